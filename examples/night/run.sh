#!/bin/sh
# A night by hand: proves a queue file, runs it in the foreground, and shows what came of it.
#
#   night/run.sh [QUEUE_FILE]       in a station; default: night/night.yaml
#
# Ends with the exit code of the night: 0 every entry is ok, 1 some are not, 75 the lock was not free.
set -eu

file=${1:-night/night.yaml}
# So long it waits for whatever holds the model lock, seconds.
wait=${WAIT:-600}

# What can go wrong at midnight goes wrong now: each model loads, speaks and is let go of again.
touchstoned queue check "$file" --lock-wait "$wait"

status=0
touchstoned queue run "$file" --lock-wait "$wait" --json >night/summary.json || status=$?

# One line an entry: its status and its model. The JSON has much more: `jq . night/summary.json`
sed -n 's/^ *"\(model_id\|status\)": "\(.*\)",*$/\1 \2/p' night/summary.json
exit "$status"
