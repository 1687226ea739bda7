# shellcheck shell=bash
# The package descriptions that the demo and the benchmark use as real rows. Sourced after common.sh.

# Package lists with English long descriptions. Many installations (all container images) leave the
# long ones out: then apt fetches lists once into target/demo, and the machine's own stay as they
# are.
package_lists() {
	local own=$ROOT/target/demo/apt
	mkdir -p "$ROOT/target/demo"
	apt_options=()
	compgen -G '/var/lib/apt/lists/*Translation-en*' >/dev/null && return 0
	apt_options=(-o "Dir::State::Lists=$own/lists/" -o "Dir::Cache=$own/cache/" -o Acquire::Languages=en
		-o APT::Sandbox::User=root -o APT::Update::Post-Invoke-Success::=true)
	compgen -G "$own/lists/*Translation-en*" >/dev/null && return 0
	echo 'fetching the package descriptions (once; some 20 MB)'
	mkdir -p "$own/lists/partial" "$own/cache/archives/partial"
	apt-get -q "${apt_options[@]}" -o Debug::NoLocking=true update >"$(log_file apt_lists)" 2>&1 ||
		echo 'they could not be fetched: going on with what this machine has'
	compgen -G "$own/lists/*Packages*" >/dev/null || apt_options=()
}

# Rows in COPY format on stdout.
package_rows() {
	local lists=/var/lib/apt/lists dir=$ROOT/target/demo translations=()
	[ "${#apt_options[@]}" = 0 ] || lists=$dir/apt/lists
	apt-cache "${apt_options[@]}" dumpavail >"$dir/packages"
	mapfile -t translations < <(compgen -G "$lists/*Translation-en*" || true)
	: >"$dir/translations"
	[ "${#translations[@]}" = 0 ] || /usr/lib/apt/apt-helper cat-file "${translations[@]}" >"$dir/translations"
	perl "$ROOT/tools/package_rows.pl" "$dir/packages" "$dir/translations"
}
