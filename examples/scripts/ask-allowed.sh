#!/bin/sh
# Sends prompts to a model, as many at once as this device may serve, and asks anew on each pass: the
# number falls to 1 when the evidence expires, the runner changes, or nobody ever measured.
#
#   ask-allowed.sh COMMAND [ARGUMENT...] < prompts.txt
#
# COMMAND gets one line of its input as its last argument. Ends 1 where one of them failed.
set -eu

[ $# -gt 0 ] || { echo "usage: ask-allowed.sh COMMAND [ARGUMENT...] < prompts.txt" >&2; exit 2; }

status=0
pass=0
more=yes
while [ "$more" = yes ]; do
  # One number on standard output, whatever happens; why it is that one is on standard error.
  allowed=$(touchstoned slots allowed)
  pass=$((pass + 1))
  echo "pass $pass: $allowed at once" >&2
  running=
  started=0
  while [ "$started" -lt "$allowed" ]; do
    IFS= read -r prompt || { more=no; break; }
    # Takes one of the slots while it runs: nothing measures meanwhile, and no other script takes it.
    touchstoned slots run --wait 3600 -- "$@" "$prompt" </dev/null &
    running="$running $!"
    started=$((started + 1))
  done
  for pid in $running; do wait "$pid" || status=1; done
done
exit "$status"
