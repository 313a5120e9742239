#!/bin/sh
# Starts touchstoned with a Node that will do. Written by `touchstoned install`, which writes it again.
#
#   launch [--cron | --launchd] COMMAND...   runs `touchstoned COMMAND...`
#   launch --which                           prints the Node that it would take
#
# The Node of the installation goes first. Where it is gone or too old (an upgrade of Homebrew, nvm, Volta
# or the system), the newest of the usual places is taken. Where there is none: one line why, exit 78;
# under launchd 0, since launchd starts again whatever ends otherwise.

lib=@LIB@
recorded=@NODE@
need_major=@NEED_MAJOR@
need_minor=@NEED_MINOR@

# launchd and cron do not always say it.
[ -n "${HOME-}" ] || HOME=@HOME@
export HOME
# Where things lie, as it was at the installation.
@ENV@

manager=
case ${1-} in
--cron | --launchd)
  manager=$1
  shift
  ;;
esac

if [ "${1-}" = daemon ]; then
  # Jobs inherit this: always the same, whoever starts the daemon.
  PATH=@SERVICE_PATH@
  export PATH
  unset NODE_OPTIONS NODE_PATH
fi

# What launchd and cron keep of our words must not grow for ever; others may not read it.
log=@CRASH_LOG@
if [ -n "$manager" ] && [ -n "$(find "$log" -size +2048 2>/dev/null)" ]; then
  : >"$log"
fi

give_up() {
  echo "touchstoned: $1" >&2
  [ "$manager" = --launchd ] && exit 0
  exit 78
}

version=
rank=0
# Whether the Node at $1 runs and is new enough; sets `version` ("" where it does not run) and `rank`.
fits() {
  version=
  [ -x "$1" ] && [ ! -d "$1" ] || return 1
  said=$("$1" --version 2>/dev/null </dev/null) || return 1
  major=${said#v}
  minor=${major#*.}
  patch=${minor#*.}
  major=${major%%.*}
  minor=${minor%%.*}
  patch=${patch%%[!0-9]*}
  for number in "$major" "$minor" "${patch:=0}"; do
    case $number in
    '' | *[!0-9]* | 0[0-9]* | ??????*) return 1 ;;
    esac
  done
  version=$major.$minor.$patch
  rank=$((major * 1000000 + minor * 1000 + patch))
  [ "$major" -gt "$need_major" ] || { [ "$major" -eq "$need_major" ] && [ "$minor" -ge "$need_minor" ]; }
}

node=
too_old=
# Takes the newest of those named that will do.
choose() {
  best=0
  for one in "$@"; do
    if fits "$one"; then
      if [ "$rank" -gt "$best" ]; then
        best=$rank
        node=$one
      fi
    elif [ -n "$version" ]; then
      too_old="$too_old, $one is $version"
    fi
  done
}

if [ -n "$recorded" ] && fits "$recorded"; then
  node=$recorded
else
  [ -z "$version" ] || too_old=", $recorded is $version"
  choose \
    /opt/homebrew/bin/node /opt/homebrew/opt/node/bin/node /opt/homebrew/opt/node@*/bin/node \
    /usr/local/bin/node /usr/local/opt/node/bin/node /usr/local/opt/node@*/bin/node \
    /home/linuxbrew/.linuxbrew/bin/node \
    "${NVM_DIR:-$HOME/.nvm}"/versions/node/*/bin/node \
    "${VOLTA_HOME:-$HOME/.volta}"/tools/image/node/*/bin/node \
    "${FNM_DIR:-$HOME/.local/share/fnm}"/node-versions/*/installation/bin/node \
    "$HOME/.fnm"/node-versions/*/installation/bin/node \
    "$HOME/Library/Application Support/fnm"/node-versions/*/installation/bin/node \
    "${ASDF_DATA_DIR:-$HOME/.asdf}"/installs/nodejs/*/bin/node \
    "${MISE_DATA_DIR:-$HOME/.local/share/mise}"/installs/node/*/bin/node \
    "$HOME/.nodenv"/versions/*/bin/node "$HOME/n/bin/node" "$HOME/.local/bin/node" \
    /opt/local/bin/node /run/current-system/sw/bin/node "$HOME/.nix-profile/bin/node" \
    /usr/bin/node /usr/bin/nodejs /snap/bin/node
  if [ -z "$node" ]; then
    give_up "no Node $need_major.$need_minor or newer${too_old}; install one, then run: touchstoned install"
  fi
  [ -z "$recorded" ] || echo "touchstoned: $recorded will not do any more, taking $node" >&2
fi

if [ "${1-}" = --which ]; then
  fits "$node"
  echo "$node $version"
  exit 0
fi

main=$lib/current/dist/cli/main.js
# Installed from a clone: Node runs the sources as they are.
[ -f "$main" ] || main=$lib/current/src/cli/main.ts
[ -f "$main" ] || give_up "the program is gone from $lib/current; run: touchstoned install"

if [ "$manager" = --launchd ]; then
  set -- "$@" --launchd
elif [ "$manager" = --cron ]; then
  # `touchstoned stop` was said; `touchstoned start` takes it away.
  [ -e "$lib/stopped" ] && exit 0
  # One that runs already ends us before Node is started. The daemon does not get the lock itself: a step
  # of it that lives on must not keep the next daemon from being started.
  if command -v flock >/dev/null 2>&1; then
    {
      flock -n 9 || exit 0
      "$node" "$main" "$@" 9>&-
      exit
    } 9>>"$lib/cron.lock"
  elif command -v lockf >/dev/null 2>&1; then
    exec lockf -k -s -t 0 "$lib/cron.lock" "$node" "$main" "$@"
  fi
fi
exec "$node" "$main" "$@"
