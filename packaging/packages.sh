#!/usr/bin/env bash
# make deb: for the server of PG_CONFIG, and each of PG_CONFIGS, into OUT (target/packages)
#
#   postgresql-NN-simhash-dedup_VERSION-1_ARCH.deb         the library, stripped, and the SQL files
#   postgresql-NN-simhash-dedup-dbgsym_VERSION-1_ARCH.deb  its debug symbols
#   simhash_dedup-VERSION-pgNN-linux-MACHINE.tar.gz        the same for servers from elsewhere, with install.sh
#
# The same commit, compiler and server headers give the same bytes in every folder. `packages.sh dist` (make dist) makes the
# source archive for PGXN, `packages.sh sbom` (make sbom) the list of what is linked into the library.

# shellcheck source=packaging/common.sh
. "$(dirname "$0")/common.sh"

DESCRIPTION=$(field description)
# The project has no address: who publishes packages gives one.
MAINTAINER=${MAINTAINER:-$(field authors)}
ARCHITECTURE=$(dpkg --print-architecture 2>/dev/null || uname -m)
stage=''
trap '[ -z "$stage" ] || rm -rf "$stage"' EXIT

# Sets LIBRARY, SYMBOLS and NOTICES for the server at hand, in folder $1.
build() {
	local id
	CARGO_PROFILE_RELEASE_DEBUG=line-tables-only build_library
	cp "$LIBRARY" "$1/whole.so"
	id=$(readelf -n "$1/whole.so" | sed -n 's/^ *Build ID: //p')
	[ -n "$id" ] || fail "the linker gave the library no build id, by which debuggers find its symbols"
	SYMBOLS=.build-id/${id:0:2}/${id:2}.debug
	LIBRARY=$1/$NAME.so
	mkdir -p "$1/debug/$(dirname "$SYMBOLS")"
	objcopy --only-keep-debug --compress-debug-sections "$1/whole.so" "$1/debug/$SYMBOLS"
	strip --strip-unneeded -o "$LIBRARY" "$1/whole.so"
	NOTICES=$1/NOTICES
	notices >"$NOTICES"
}

# The licences of the crates that are linked into the library.
notices() {
	# cargo-about reads the crates of every platform, a build fetches only those of one.
	(cd "$ROOT" && cargo fetch --locked --quiet)
	# shellcheck disable=SC2046  # a list of words
	(cd "$ROOT" && cargo about generate --locked --offline --fail $(cargo_features) \
		--config packaging/about.toml packaging/about.hbs)
}

# The notices as Debian wants them: a licence that every system has is named, and of its text only whose rights it speaks of
# stays.
copyright() {
	cat "$ROOT/LICENSE"
	awk '/^----------/ { common = 0 }
		common { if (/^ *Copyright [^[{]/) print; next }
		{ print }
		/^Apache License 2\.0, of/ { common = 1; print "\nThe text is in /usr/share/common-licenses/Apache-2.0." }' "$NOTICES"
}

# Debian's own changelog of a package, beside that of the extension.
debian_changelog() {
	local contact=$MAINTAINER
	[[ $contact = *'<'* ]] || contact+=' <>'
	cat <<-END
		${NAME//_/-} ($VERSION-1) unstable; urgency=medium

		  * Version $VERSION; its changes are in changelog.gz.

		 -- $contact  $(date -u -R --date="@$SOURCE_DATE_EPOCH")
	END
}

# control PACKAGE DEPENDS SECTION SUMMARY: prints a control file for what is staged in $stage/$1.
control() {
	cat <<-END
		Package: $1
		Source: ${NAME//_/-}
		Version: $VERSION-1
		Section: $3
		Priority: optional
		Architecture: $ARCHITECTURE
		Depends: $2
		Maintainer: $MAINTAINER
		Installed-Size: $(du -sk --apparent-size "$stage/$1/usr" | cut -f 1)
		Description: $4
	END
}

# What the library is linked with, as Debian's own tool says it.
linked_with() {
	local dir=$stage/shlibdeps
	mkdir -p "$dir/debian"
	: >"$dir/debian/control"
	(cd "$dir" && dpkg-shlibdeps -O "$LIBRARY" 2>/dev/null) | sed -n 's/^shlibs:Depends=//p'
}

# pack_deb PACKAGE: checksums, dates, and the file itself.
pack_deb() {
	local dir=$stage/$1
	(cd "$dir" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
	normalise "$dir"
	dpkg-deb --root-owner-group -Zxz --build "$dir" "$OUT/${1}_$VERSION-1_$ARCHITECTURE.deb" >/dev/null
}

deb() {
	local name=postgresql-$PG_MAJOR-${NAME//_/-} dir
	dir=$stage/$name
	mkdir -p "$dir/DEBIAN"
	install -Dm 644 "$LIBRARY" "$dir/usr/lib/postgresql/$PG_MAJOR/lib/$NAME.so"
	install -Dm 644 -t "$dir/usr/share/postgresql/$PG_MAJOR/extension" "$ROOT/$NAME.control" "$ROOT"/sql/{"$NAME"--*,simhash_review}.sql
	mkdir -p "$dir/usr/share/doc/$name"
	copyright >"$dir/usr/share/doc/$name/copyright"
	gzip -9n <"$ROOT/CHANGELOG.md" >"$dir/usr/share/doc/$name/changelog.gz"
	debian_changelog | gzip -9n >"$dir/usr/share/doc/$name/changelog.Debian.gz"
	control "$name" "postgresql-$PG_MAJOR, $(linked_with)" database "near-duplicate rows for PostgreSQL $PG_MAJOR" >"$dir/DEBIAN/control"
	fold -s -w 76 <<<"$DESCRIPTION." | sed 's/^/ /; s/ *$//' >>"$dir/DEBIAN/control"
	printf ' .\n In a database: CREATE EXTENSION %s;\n' "$NAME" >>"$dir/DEBIAN/control"
	pack_deb "$name"

	dir=$dir-dbgsym
	mkdir -p "$dir/DEBIAN" "$dir/usr/share/doc"
	install -Dm 644 "$stage/debug/$SYMBOLS" "$dir/usr/lib/debug/$SYMBOLS"
	ln -s "$name" "$dir/usr/share/doc/$name-dbgsym"
	control "$name-dbgsym" "$name (= $VERSION-1)" debug "debug symbols for $name" >"$dir/DEBIAN/control"
	pack_deb "$name-dbgsym"
}

tarball() {
	local name
	name=$NAME-$VERSION-pg$PG_MAJOR-linux-$(uname -m)
	mkdir -p "$stage/$name/lib" "$stage/$name/extension"
	cp "$LIBRARY" "$stage/$name/lib"
	cp "$ROOT/$NAME.control" "$ROOT"/sql/{"$NAME"--*,simhash_review}.sql "$stage/$name/extension"
	cp "$ROOT/LICENSE" "$ROOT/README.md" "$ROOT/CHANGELOG.md" "$NOTICES" "$stage/$name"
	tarball_installer "$LIBRARY" "$PG_MAJOR" >"$stage/$name/install.sh"
	chmod +x "$stage/$name/install.sh"
	normalise "$stage/$name"
	tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cf - "$name" | gzip -9n >"$OUT/$name.tar.gz"
}

packages() {
	local config
	command -v dpkg-shlibdeps >/dev/null || fail "dpkg-dev is missing; install it with: apt-get install dpkg-dev"
	# cargo looks for it where it has installed it, too.
	cargo about --version >/dev/null 2>&1 ||
		fail "cargo-about is missing; install it with: cargo install --locked cargo-about --features cli"
	for config in "${PG_CONFIG:-}" ${PG_CONFIGS:-}; do
		PG_CONFIG=$config
		require_build_tools
		require_postgres build
		stage=$(mktemp -d)
		build "$stage"
		deb
		tarball
		rm -rf "$stage"
	done
	(cd "$OUT" && sha256sum -- *"$VERSION"*)
}

# The source archive, as PGXN wants it: META.json at its top, and all files in one folder of its name.
dist() {
	local name=$NAME-$VERSION
	[ "$(sed -n 's/^ *"version": "\([^"]*\)",*$/\1/p' "$ROOT/META.json" | sort -u)" = "$VERSION" ] ||
		fail "META.json is of another version than Cargo.toml, $VERSION"
	if command -v pgxn_meta >/dev/null; then
		pgxn_meta "$ROOT/META.json"
	else
		say 'META.json was not checked: pgxn_meta is missing (cargo install --locked pgxn_meta)'
	fi
	git -C "$ROOT" archive --format=zip --prefix="$name/" -o "$OUT/$name.zip" HEAD
	(cd "$OUT" && sha256sum "$name.zip")
}

# What is linked into the library, in CycloneDX's form, for those who look for crates with known faults. The majors differ in no
# crate. The tool writes a file beside each Cargo.toml, so it gets a copy of the sources.
sbom() {
	local name=$NAME-$VERSION.cdx.json
	cargo cyclonedx --version >/dev/null 2>&1 ||
		fail "cargo-cyclonedx is missing; install it with: cargo install --locked cargo-cyclonedx@0.5.9"
	stage=$(mktemp -d)
	git -C "$ROOT" archive HEAD | tar -C "$stage" -xf -
	(cd "$stage" && cargo cyclonedx --quiet --format json --spec-version 1.5 --no-build-deps --no-default-features --features pg15)
	sed "s#file://$stage#file:///usr/src/$NAME-$VERSION#" "$stage/$NAME.cdx.json" >"$OUT/$name"
	(cd "$OUT" && sha256sum "$name")
}

mkdir -p "$OUT"
require_rust
reproducible
case ${1:-packages} in
dist) dist ;;
sbom) sbom ;;
*) packages ;;
esac
