# bash completion for tabane
_tabane() {
  local verbs="survey report study run encrypt decrypt verify keygen"
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
    encrypt:--cipher | decrypt:--cipher | verify:--cipher)
      mapfile -t COMPREPLY < <(compgen -W "aes-256-gcm aes-128-cbc aes-256-cbc" -- "$current")
      return ;;
    encrypt:--engine | decrypt:--engine | verify:--engine)
      mapfile -t COMPREPLY < <(compgen -W "auto openssl ipsec-mb" -- "$current")
      return ;;
    encrypt:--key-file | encrypt:--passphrase-file | decrypt:--key-file | \
      decrypt:--passphrase-file | verify:--key-file | verify:--passphrase-file)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return ;;
    encrypt:--iv | encrypt:--exclude | encrypt:-t | encrypt:--threads | decrypt:--iv | \
      decrypt:--exclude | decrypt:-t | decrypt:--threads | verify:--iv | verify:--exclude | \
      verify:-t | verify:--threads)
      return ;;
    survey:--only | run:-c | run:--cpus | run:-m | run:--membind | run:-i | run:--interleave | \
      run:-t | run:--threads)
      return ;;
  esac

  case $verb in
    survey) options="--list --only --quick -o --output --json -q --quiet" ;;
    report) options="-o --output" ;;
    study)
      options="--quick --files --sizes -t --threads -r --runs --dir -o --output --json"
      options+=" --workloads --malloc --text-size --text --transport -n --processes --calibrate"
      options+=" -q --quiet" ;;
    run)
      options="-c --cpus -m --membind -i --interleave -l --localalloc --placement -t --threads"
      options+=" --huge-pages --malloc --dry-run -q --quiet" ;;
    encrypt | decrypt | verify)
      options="--key-file --passphrase-file --cipher --iv --exclude -t --threads --engine --json"
      options+=" -q --quiet -v --verbose"
      [[ $verb == verify ]] || options+=" --dry-run --resume --force --fsync" ;;
    keygen) options="" ;;
    *) return ;;
  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options -h --help" -- "$current")
  elif [[ $verb == study ]]; then
    mapfile -t COMPREPLY < <(compgen -W "ha8000 aes-folder process-thread ap1000" -- "$current")
  elif [[ $verb =~ ^(report|encrypt|decrypt|verify|keygen)$ ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _tabane tabane
