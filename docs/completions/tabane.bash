# bash completion for tabane
_tabane() {
  local verbs="survey report study run"
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local options verb=${COMP_WORDS[1]} i
  COMPREPLY=()

  if [[ $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$verbs -h --help -V --version" -- "$current")
    return
  fi

  # After "--" everything belongs to the command.
  for ((i = 2; i < COMP_CWORD; ++i)); do
    if [[ $verb == run && ${COMP_WORDS[i]} == -- ]]; then
      if [[ $i -eq $((COMP_CWORD - 1)) ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
      fi
      return
    fi
  done

  case $verb:$previous in
    survey:-o | survey:--output)
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      return ;;
    report:-o | report:--output)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return ;;
    run:--placement)
      mapfile -t COMPREPLY < <(compgen -W "compact scatter numa none" -- "$current")
      return ;;
    run:--malloc)
      mapfile -t COMPREPLY < <(compgen -W "glibc jemalloc mimalloc tcmalloc" -- "$current")
      return ;;
    survey:--only | run:-c | run:--cpus | run:-m | run:--membind | run:-i | run:--interleave | \
      run:-t | run:--threads)
      return ;;
  esac

  case $verb in
    survey) options="--list --only --quick -o --output --json -q --quiet" ;;
    report) options="-o --output" ;;
    study) options="--quick --json -q --quiet" ;;
    run)
      options="-c --cpus -m --membind -i --interleave -l --localalloc --placement -t --threads"
      options+=" --huge-pages --malloc --dry-run -q --quiet" ;;
    *) return ;;
  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options -h --help" -- "$current")
  elif [[ $verb == study ]]; then
    mapfile -t COMPREPLY < <(compgen -W "ha8000" -- "$current")
  elif [[ $verb == report ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _tabane tabane
