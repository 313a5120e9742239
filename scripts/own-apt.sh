# To be sourced: Debian's packages for the tests without a change to the system.

# Prints the mirror of Debian's main archive that this machine's apt is set up with; nothing where there is none.
debian_mirror() {
  apt-get indextargets --format '$(ORIGIN)|$(REPO_URI)' 'Created-By: Packages' |
    awk -F'|' '$1 == "Debian" && $2 !~ /security/ { print $2; exit }'
}

# own_apt DIR SOURCE: an apt with lists, state and cache of its own in DIR/apt, which knows SOURCE (a line of
# sources.list) and no package that is installed: so the whole closure is taken from there. Use it by
# APT_CONFIG=DIR/apt/apt.conf.
own_apt() {
  mkdir -p "$1"/apt/{lists/partial,cache/archives/partial}
  : >"$1/apt/status"
  echo "$2" >"$1/apt/sources.list"
  cat >"$1/apt/apt.conf" <<CONF
Dir::Etc::sourcelist "$1/apt/sources.list";
Dir::Etc::sourceparts "-";
Dir::State "$1/apt";
Dir::State::status "$1/apt/status";
Dir::Cache "$1/apt/cache";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "2";
CONF
}
