#!/bin/bash
# get-debian-tree.sh DIR: a small Debian with systemd, cron and git in DIR/root, to be booted by the
# tests of tests/system. Needs root, a Debian-like system and its package mirror; about 100 MB to fetch.
# Nothing of the system is changed: mmdebstrap (as debootstrap, with half of its work) is unpacked
# beside the tree, and systemd-nspawn comes with the tree itself.
#
# Run again it only says that the tree is there. Ends 0 when it is, 75 when the mirror does not answer
# (try later), 69 where this machine cannot make one, 1 when something is wrong that waiting does not cure.
set -euo pipefail
. "$(dirname "$0")/own-apt.sh"

say() { echo "get-debian-tree: $*" >&2; }
fail() { say "ERROR: $*"; exit 1; }
cannot() { say "cannot be made here: $*"; exit 69; }
later() { say "THE PACKAGE MIRROR DOES NOT ANSWER: $*"; exit 75; }

[ $# -eq 1 ] || { say "usage: get-debian-tree.sh DIR"; exit 2; }
target=$(realpath -m "$1")
suite=bookworm
# What a machine of a person has besides the base: a user manager and its bus, polkit (who may linger),
# cron, git. faketime makes cron's minutes short; systemd-container boots the tree.
packages=systemd,systemd-sysv,systemd-container,dbus,dbus-user-session,libpam-systemd,polkitd
packages+=,cron,faketime,git,procps,util-linux,ca-certificates
made_of="$suite $packages 1"

if [ "$(cat "$target/made-of" 2>/dev/null)" = "$made_of" ]; then
  say "already in $target"
  exit 0
fi

[ "$(id -u)" = 0 ] || cannot "it takes root"
for tool in apt-get dpkg-deb perl tar; do
  command -v "$tool" >/dev/null || cannot "no $tool: this script is for Debian"
done
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -f "$keyring" ] || cannot "no $keyring: this script is for Debian"
uri=$(debian_mirror)
uri=${uri:-http://deb.debian.org/debian}

mkdir -p "$(dirname "$target")"
dir=$(mktemp -d "$target.XXXXXX")
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
source="deb [signed-by=$keyring] $uri $suite main"
own_apt "$dir" "$source"
(
  cd "$dir/apt"
  export APT_CONFIG="$dir/apt/apt.conf"
  apt-get -qq update || later "no list of packages from $uri $suite"
  apt-get -qq download mmdebstrap || later "no mmdebstrap from $uri $suite"
  dpkg-deb -x mmdebstrap_*.deb "$dir/apt/mmdebstrap"
)
say "fetching and setting up $suite from $uri"
log="$dir/apt/mmdebstrap.log"
if ! perl "$dir/apt/mmdebstrap/usr/bin/mmdebstrap" --quiet --mode=root --variant=minbase \
  --aptopt='Acquire::Languages "none"' --aptopt='Acquire::Retries "2"' \
  --dpkgopt=force-unsafe-io \
  --include="$packages" "$suite" "$dir/root" "$source" >"$log" 2>&1; then
  tail -20 "$log" >&2
  grep -Eq "Could not (connect|resolve)|timed out|Temporary failure|Connection failed" "$log" &&
    later "no packages from $uri $suite"
  fail "mmdebstrap failed"
fi

# Nothing in it is to look for work or for the network of its own accord.
for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
  systemd-tmpfiles-clean.timer e2scrub_reap.service systemd-resolved.service console-getty.service; do
  ln -sf /dev/null "$dir/root/etc/systemd/system/$unit"
done
echo touchstoned-test >"$dir/root/etc/hostname"
rm -rf "$dir/apt" "$dir"/root/var/{lib/apt/lists,cache/apt}/* "$dir"/root/usr/share/{doc,man,locale}/*
: >"$dir/root/etc/machine-id"

echo "$made_of" >"$dir/made-of"
rm -rf "$target"
mv "$dir" "$target"
say "made $target"
