# fish completion for tabane
complete -c tabane -f
complete -c tabane -n __fish_use_subcommand -s h -l help -d 'Show the help'
complete -c tabane -n __fish_use_subcommand -s V -l version -d 'Show the version'
complete -c tabane -n __fish_use_subcommand -a survey -d 'Measure this machine'
complete -c tabane -n __fish_use_subcommand -a report -d 'Make the page of a survey again'
complete -c tabane -n __fish_use_subcommand -a study -d 'Run a performance report again'
complete -c tabane -n __fish_use_subcommand -a run -d 'Run a command in chosen places'

complete -c tabane -n '__fish_seen_subcommand_from survey' -s h -l help -d 'Show the help'
complete -c tabane -n '__fish_seen_subcommand_from survey' -l list -d 'List the probes and stop'
complete -c tabane -n '__fish_seen_subcommand_from survey' -l only -x -d 'Run only the probes that match'
complete -c tabane -n '__fish_seen_subcommand_from survey' -l quick -d 'Fewer samples, smaller sizes'
complete -c tabane -n '__fish_seen_subcommand_from survey' -s o -l output -x -a '(__fish_complete_directories)' -d 'Directory for the report'
complete -c tabane -n '__fish_seen_subcommand_from survey' -l json -d 'Write the results as JSON'
complete -c tabane -n '__fish_seen_subcommand_from survey' -s q -l quiet -d 'No progress, table or warnings'

complete -c tabane -n '__fish_seen_subcommand_from report' -s h -l help -d 'Show the help'
complete -c tabane -n '__fish_seen_subcommand_from report' -s o -l output -r -F -d 'Page to write'
complete -c tabane -n '__fish_seen_subcommand_from report' -F

complete -c tabane -n '__fish_seen_subcommand_from study' -s h -l help -d 'Show the help'
complete -c tabane -n '__fish_seen_subcommand_from study' -a ha8000 -d 'Timing, CPUs, memory, SIMD'
complete -c tabane -n '__fish_seen_subcommand_from study' -l quick -d 'Fewer samples, smaller sizes'
complete -c tabane -n '__fish_seen_subcommand_from study' -l json -d 'Write the results as JSON'
complete -c tabane -n '__fish_seen_subcommand_from study' -s q -l quiet -d 'No progress'

complete -c tabane -n '__fish_seen_subcommand_from run' -s h -l help -d 'Show the help'
complete -c tabane -n '__fish_seen_subcommand_from run' -s c -l cpus -x -d 'CPUs: 0-3,8 0-15:2 all'
complete -c tabane -n '__fish_seen_subcommand_from run' -s m -l membind -x -d 'Memory of these nodes only'
complete -c tabane -n '__fish_seen_subcommand_from run' -s i -l interleave -x -d 'Pages in turn over these nodes'
complete -c tabane -n '__fish_seen_subcommand_from run' -s l -l localalloc -d 'Memory where it is first written'
complete -c tabane -n '__fish_seen_subcommand_from run' -l placement -x -a 'compact scatter numa none' -d 'Where the threads go'
complete -c tabane -n '__fish_seen_subcommand_from run' -s t -l threads -x -d 'Number of threads'
complete -c tabane -n '__fish_seen_subcommand_from run' -l huge-pages -d 'The allocator asks for huge pages'
complete -c tabane -n '__fish_seen_subcommand_from run' -l malloc -x -a 'glibc jemalloc mimalloc tcmalloc' -d 'Allocator'
complete -c tabane -n '__fish_seen_subcommand_from run' -l dry-run -d 'Only show what would be done'
complete -c tabane -n '__fish_seen_subcommand_from run' -s q -l quiet -d 'No binding map, no warnings'
complete -c tabane -n '__fish_seen_subcommand_from run' -a '(__fish_complete_subcommand --fcs-skip=2)'
