#!/bin/sh
# Runs a benchmark of your own under the model lock, without touchstoned having a hand in it: no night,
# no calibration and no other script of this kind runs at the same time.
#
#   share-the-lock.sh COMMAND [ARGUMENT...]       WAIT=3600 share-the-lock.sh ...
#
# Ends with COMMAND's own status, and with 75 where the lock was not free within WAIT seconds [0].
# COMMAND keeps the lock as long as it lives, even if this script is killed.
set -eu

[ $# -gt 0 ] || { echo "usage: share-the-lock.sh COMMAND [ARGUMENT...]" >&2; exit 2; }

# Asked each time, since machine.yaml may move it.
lock=$(touchstoned lock status --json | sed -n 's/^  "path": "\(.*\)",*$/\1/p')
[ -n "$lock" ] || { echo "share-the-lock.sh: where is the lock?" >&2; exit 1; }

if command -v flock >/dev/null; then
  exec flock --exclusive --timeout "${WAIT:-0}" --conflict-exit-code 75 "$lock" "$@"
fi
# macOS. -k: the file stays, as everybody's must; it ends 75 by itself where the lock is not free.
exec lockf -k -t "${WAIT:-0}" "$lock" "$@"
