#!/bin/sh
# Runs a program under an MPI launcher.
# usage: mpi_test.sh openmpi|mpich RANKS PROGRAM MODULE_DIR [OPTION…]
#
# Succeeds if the job exits with $TABANE_EXIT_CODE, or 0. Exits 77 if this MPI, or tabane's module
# for it, is not there.
set -eu
mpi=$1 ranks=$2 program=$3 modules=$4
shift 4

launcher=
for name in "mpirun.$mpi" "mpiexec.$mpi" mpirun; do
  command -v "$name" >/dev/null 2>&1 || continue
  case $mpi:$("$name" --version 2>&1) in
    openmpi:*"Open MPI"* | mpich:*HYDRA*) launcher=$name; break ;;
  esac
done
[ -n "$launcher" ] || { echo "skipped: no launcher of $mpi"; exit 77; }
[ -e "$modules/libtabane_mpi_$mpi.so" ] || {
  echo "skipped: tabane was built without $mpi"
  exit 77
}

export TABANE_MPI_MODULE="$modules"
if [ "$mpi" = openmpi ]; then
  # As root, and with more ranks than PUs, Open MPI runs only where it is told so.
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  launcher="$launcher --oversubscribe"
fi
code=0
$launcher -n "$ranks" "$program" "$@" || code=$?
[ "$code" -eq "${TABANE_EXIT_CODE:-0}" ] || {
  echo "exited with $code"
  exit 1
}
