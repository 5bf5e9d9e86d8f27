#!/bin/bash
# Man page and completions know every verb and option that --help shows, and no other.
# usage: options_test.sh TABANE DOCS_DIR
set -euo pipefail
tabane=$1 docs=$2
# shellcheck source=/dev/null
source "$docs/completions/tabane.bash"
bad=0
complain() { echo "$*"; bad=1; }

# Prints the names below "Subcommands:" in a help text.
subcommands_of_help() {
  awk '/^Subcommands:/ { inside = 1; next } inside && /^  [a-z]/ { print $1 }' | sort
}
# Prints the options at the starts of the lines of a help text, one a line, sorted.
options_of_help() {
  grep -oE '^  +-[^ ]+' | grep -oE -- '--?[A-Za-z][A-Za-z0-9-]*' | sort -u
}
# Prints what bash would offer after the words.
offered() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _tabane
  printf '%s\n' "${COMPREPLY[@]}" | sort -u
}
man_section() {  # VERB, or OPTIONS for those of all verbs
  awk -v verb="$1" '/^\.S[SH] / { inside = ($2 == verb) } inside' "$docs/tabane.1" |
    sed 's/\\-/-/g; s/\\f[A-Z]/ /g' | grep -A1 '^\.TP' |
    grep -oE -- '(^|[ "])--?[A-Za-z][A-Za-z0-9-]*' | tr -d ' "' | sort -u
}
zsh_section() {
  awk -v name="_tabane${1:+_}$1() {" '$0 == name { inside = 1 } /^}/ { inside = 0 } inside' \
    "$docs/completions/_tabane" | sed 's/\[.*//; s/:.*//; s/([^)]*)//' |
    grep -oE -- '--?[A-Za-z][A-Za-z0-9-]*' | grep -vx -- '-[CS]' | sort -u
}
fish_section() {
  grep -E "$1" "$docs/completions/tabane.fish" | grep -oE -- ' -(s [A-Za-z]|l [a-z-]+)' |
    sed 's/^ -s /-/; s/^ -l /--/' | sort -u
}
same() {  # WHERE EXPECTED FOUND
  [ "$2" = "$3" ] || complain "$1 differs from --help (<) by:" \
    $'\n'"$(diff <(echo "$2") <(echo "$3") | grep '^[<>]')"
}

verbs=$("$tabane" --help | subcommands_of_help)
[ -n "$verbs" ] || complain "--help shows no verbs"
common=$'--help\n-h'

top=$("$tabane" --help | options_of_help)
same "bash, first word" "$(printf '%s\n' "$verbs" "$top" | sort -u)" "$(offered tabane '')"
same "man page, OPTIONS" "$top" "$(man_section OPTIONS)"
same "zsh, first word" "$top" "$(zsh_section '')"
same "fish, first word" "$top" "$(fish_section __fish_use_subcommand)"

for verb in $verbs; do
  names=$("$tabane" "$verb" --help | subcommands_of_help)
  options=$({ "$tabane" "$verb" --help
    for name in $names; do "$tabane" "$verb" "$name" --help; done; } | options_of_help)
  [ -n "$options" ] || complain "$verb --help shows no options"
  same "bash, $verb" "$options" "$(offered tabane "$verb" -)"
  same "man page, $verb" "$options" "$({ man_section "$verb"; echo "$common"; } | sort -u)"
  same "zsh, $verb" "$options" "$(zsh_section "$verb")"
  same "fish, $verb" "$options" "$(fish_section "_from $verb'")"
  for name in $names; do
    for file in tabane.1 completions/tabane.bash completions/_tabane completions/tabane.fish; do
      grep -qw "$name" "$docs/$file" || complain "$file does not know $verb $name"
    done
  done
done
[ "$bad" -eq 0 ] && echo "all verbs and options are known: $(echo "$verbs" | tr '\n' ' ')"
exit "$bad"
