#!/bin/bash
# Man page and completions, as the build makes them, know what --help shows, and bash offers it in
# its place.
# usage: options_test.sh TABANE
set -euo pipefail
tabane=$1 documents=$(dirname "$1")/documents
# shellcheck source=/dev/null
source "$documents/tabane"
bad=0
complain() { echo "$*"; bad=1; }

# Prints the names that a help text shows behind the options, in groups or not.
names_of_help() {
  awk '/^Options:/ { inside = 1 } /^$/ && inside { inside = 2 }
       inside == 2 && /^  [a-z]/ { print $1 }' | sort
}
# Prints the options at the starts of the lines of a help text, one a line, sorted.
options_of_help() {
  grep -oE '^  -[^ ]+(, --[^ ]+)?' | grep -oE -- '--?[A-Za-z][A-Za-z0-9-]*' | sort -u
}
empty=$(mktemp -d)  # where no files are offered beside names
trap 'rmdir "$empty"' EXIT
# Prints what bash would offer after the words.
offered() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _tabane
  printf '%s\n' "${COMPREPLY[@]}" | sort -u
}
same() {  # WHERE EXPECTED FOUND
  [ "$2" = "$3" ] || complain "$1 differs from what is expected (<) by:" \
    $'\n'"$(diff <(echo "$2") <(echo "$3") | grep '^[<>]')"
}
# Prints what a document says of a verb, with options as users type them.
part_of() {  # FILE [VERB [NAME]]
  local file=$1
  shift
  case $file in
    tabane.1)
      awk -v head=".S$([ $# -gt 0 ] && echo "S $1" || echo "H OPTIONS")" \
        '$0 == head { inside = 1; next } /^\.S[SH] / { inside = 0 } inside' "$documents/$file" ;;
    _tabane)
      awk -v head="_tabane$([ $# -eq 0 ] || printf '_%s' "$@")() {" \
        '$0 == head { inside = 1 } /^}/ { inside = 0 } inside' "$documents/$file" ;;
    tabane.fish)
      local from="__fish_seen_subcommand_from "
      grep -E -- "-n '($([ $# -gt 0 ] && echo "$from$1${2+; and $from$2}" ||
        echo __fish_use_subcommand))(; and not [^']*)?'" "$documents/$file" ;;
  esac | sed 's/\\-/-/g; s/ -l / --/g; s/ -s / -/g'
}
# knows FILE WORDS [VERB [NAME]]: complains of each word that the document does not have there.
knows() {
  local file=$1 words=$2 text word
  shift 2
  text=$(part_of "$file" "$@")
  for word in $words; do
    grep -qE -- "(^|[^a-z-])$word([^a-z-]|\$)" <<<"$text" || complain "$file, $*: $word is missing"
  done
}
lines() { printf '%s\n' "$@" | sort -u; }

# check_verb NAME…: a verb and its name, or the program.
check_verb() {
  local help names options
  help=$("$tabane" "$@" --help)
  names=$(names_of_help <<<"$help")
  options=$(options_of_help <<<"$help")
  [ -n "$options" ] || complain "$* --help shows no options"
  same "bash, $*" "$options" "$(offered tabane "$@" -)"
  [ -z "$names" ] || same "bash, names of $*" "$names" \
    "$(cd "$empty" && offered tabane "$@" '' | grep -v '^-')"
  knows _tabane "$options $names" "$@"
  knows tabane.fish "$options $names" "$@"
  # --help stands once in the man page, with the program's own options.
  [ $# -eq 0 ] || options=$(grep -vx -e -h -e --help <<<"$options" || true)
  knows tabane.1 "$options" "$@"
  local name
  for name in $names; do check_verb "$@" "$name"; done
}
check_verb

# The man page has the verbs in the groups, and in the order, of --help.
groups_of_help() {
  awk '/^Examples:/ { inside = 1 } /^$/ { inside = 0 } inside { next }
       /^[A-Z][a-z]*:$/ && !/^Options/ { print ".SH " toupper(substr($1, 1, length($1) - 1)) }
       /^  [a-z]/ { print ".SS " $1 }'
}
same "tabane.1, groups" "$("$tabane" --help | groups_of_help)" \
  "$(sed -n '/^\.SH DESCRIPTION/,/^\.SH OPTIONS/p' "$documents/tabane.1" | grep '^\.S[HS]' |
    sed '1d;$d')"

# Each verb has a page of its own, with its options.
for verb in $("$tabane" --help | groups_of_help | sed -n 's/^\.SS //p'); do
  page=$documents/man1/tabane-$verb.1
  text=$(sed 's/\\-/-/g' "$page")
  for word in $("$tabane" "$verb" --help | options_of_help | grep -vx -e -h -e --help || true); do
    grep -qE -- "(^|[^a-z-])$word([^a-z-]|\$)" <<<"$text" || complain "$page: $word is missing"
  done
done

# A study's name is offered once, and then the options of that study alone.
same "bash, study h" "ha8000" "$(offered tabane study h)"
same "bash, a second study" "" "$(offered tabane study ha8000 ap)"
offered tabane study ha8000 - | grep -qx -e --transport && complain "ha8000 has no --transport"
same "bash, --transport" "mpi" "$(offered tabane study ap1000 --transport m)"
same "bash, --cipher=" "$(lines aes-128-cbc aes-256-cbc aes-256-gcm)" \
  "$(offered tabane encrypt --cipher =)"
same "bash, --placement=s" "scatter" "$(offered tabane run --placement = s)"
same "bash, a number" "" "$(offered tabane run -t '')"
cd "$documents"
same "bash, --json=" "tabane.fish" "$(offered tabane survey --json = tabane.f)"
same "bash, IN" "tabane.fish" "$(offered tabane encrypt tabane.f)"
same "bash, the command's file" "tabane.fish" "$(offered tabane run -t 2 -- cat tabane.f)"
offered tabane run -- ca | grep -qx cat || complain "bash offers no commands to run"

for shell in zsh fish; do
  file=$documents/$([ $shell = zsh ] && echo _tabane || echo tabane.fish)
  if command -v $shell >/dev/null; then
    $shell -n "$file" || complain "$shell does not understand $file"
  fi
done
if command -v fish >/dev/null; then
  offered_by_fish() {
    PATH=$(dirname "$tabane"):$PATH fish -c "source $documents/tabane.fish; complete -C '$1'" |
      cut -f1 | sort -u
  }
  same "fish, studies" "$("$tabane" study --help | names_of_help)" \
    "$(offered_by_fish 'tabane study ')"
  same "fish, a second study" "" "$(offered_by_fish 'tabane study ha8000 ap')"
fi
if command -v groff >/dev/null; then
  said=$(for page in "$documents"/tabane.1 "$documents"/man1/*; do
    groff -mandoc -Tutf8 -ww -z "$page" 2>&1
  done)
  same "groff" "" "$said"
fi
[ "$bad" -eq 0 ] && echo "all verbs and options are known"
exit "$bad"
