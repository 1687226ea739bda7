#!/usr/bin/env bash
# make test-docker: builds packaging/Dockerfile with buildah, without a registry and without Docker, and runs the README's
# first search in the image that comes out. Then the image of packaging/Dockerfile.cnpg.
#
# The official images are stood in for: `postgres` by a bare Debian 12 with its server of PG_CONFIG's major, `rust` by the
# toolchain of this machine, both in the folders where the official ones have them. All lines of the Dockerfile are run.
# What is not tried is what the official images bring: PGDG's server and the entry point.
#
# Needs root, buildah, and debootstrap or a system that it has made before (BARE). Storage goes to TMPDIR, some 10 GB.

# shellcheck source=packaging/try.sh
. "$(dirname "$0")/try.sh"

command -v buildah >/dev/null || fail 'buildah is missing; install it with: apt-get install buildah'
require_rust

# Of all options only these: images and containers of this run, in a folder that goes with it.
image_tool() { buildah --root "$work/storage" --runroot "$work/run" "$@"; }

# image NAME FOLDER: FOLDER becomes an image.
image() {
	local container
	container=$(image_tool from scratch) &&
		image_tool copy --quiet "$container" "$2" / >/dev/null &&
		image_tool config --env PATH="/usr/local/cargo/bin:/usr/lib/postgresql/$PG_MAJOR/bin:/usr/sbin:/usr/bin:/sbin:/bin" "$container" &&
		image_tool commit --quiet "$container" "$1" >/dev/null &&
		image_tool rm "$container" >/dev/null &&
		rm -rf --one-file-system "$2"
}

# This machine's toolchain where the official image has it.
copy_toolchain() {
	local to=$1/usr/local
	mkdir -p "$to/cargo/bin" &&
		cp -a "${CARGO_HOME:-$HOME/.cargo}/bin/." "$to/cargo/bin" &&
		copy_rust "$to/rustup/toolchains/$(rust_version)-$(uname -m)-unknown-linux-gnu" &&
		cargo_certificate "$1" /usr/local/cargo
}

stand_ins() {
	bare_debian bookworm && install_server && umount "$work/root/proc" &&
		image "docker.io/library/postgres:$PG_MAJOR-bookworm" "$work/root" &&
		copy_toolchain "$work/rust" &&
		image "docker.io/library/rust:$(rust_version)-bookworm" "$work/rust"
}

# The version that the Dockerfile asks for.
rust_version() { sed -n 's/^ARG RUST=//p' "$ROOT/packaging/Dockerfile"; }

build_image() {
	git clone -q "$ROOT" "$work/source" || return
	if ! (cd "$work/source" && image_tool build --isolation chroot --build-arg "PG_MAJOR=$PG_MAJOR" -f packaging/Dockerfile -t tried .) \
		>"$(log_file docker_build)" 2>&1; then
		tail -n 30 "$(log_file docker_build)"
		return 1
	fi
}

label() { image_tool inspect --type image --format "{{index .OCIv1.Config.Labels \"io.cloudnativepg.image.$1\"}}" mounted; }

# What CloudNativePG mounts, from the same stand-ins: the files of the extension in its folders, and nothing else.
cnpg_image() {
	local container place
	if ! (cd "$work/source" && image_tool build --isolation chroot --build-arg "PG_MAJOR=$PG_MAJOR" --build-arg DISTRO=bookworm \
		--build-arg "BASE=docker.io/library/postgres:$PG_MAJOR-bookworm" -f packaging/Dockerfile.cnpg -t mounted .) \
		>"$(log_file cnpg_build)" 2>&1; then
		tail -n 30 "$(log_file cnpg_build)"
		return 1
	fi
	[ "$(label base.pgmajor) $(label base.os) $(label sql.version)" = "$PG_MAJOR bookworm $VERSION" ] || return
	container=$(image_tool from --pull-never mounted) && place=$(image_tool mount "$container") &&
		(cd "$place" && find . -type f | LC_ALL=C sort) | diff - <(printf './%s\n' lib/simhash_dedup.so \
			"licenses/postgresql-$PG_MAJOR-simhash-dedup/copyright" "share/extension/simhash_dedup--$VERSION.sql" \
			share/extension/simhash_dedup.control share/extension/simhash_review.sql | LC_ALL=C sort)
}

# The image starts no server here, as that is the official entry point's work.
search_in_image() {
	local container
	readme_search >"$work/readme.sql" &&
		container=$(image_tool from --pull-never tried) &&
		image_tool copy --quiet "$container" "$work/readme.sql" /tmp/readme.sql >/dev/null &&
		image_tool run --isolation chroot "$container" -- su postgres -c "
			export PATH=/usr/lib/postgresql/$PG_MAJOR/bin:\$PATH PGHOST=/tmp
			initdb -D /tmp/data >/dev/null && pg_ctl -D /tmp/data -o '-k /tmp -h \"\"' -l /tmp/log -w start >/dev/null &&
			psql -X -q -v ON_ERROR_STOP=1 -f /tmp/readme.sql postgres; pg_ctl -D /tmp/data -m fast stop >/dev/null" | same_answer
}

check 'stand-ins for the official images' stand_ins
check 'every line of the Dockerfile runs' build_image
check "the README's first search in that image" search_in_image
check 'the image for CloudNativePG' cnpg_image
[ "$failed" = 0 ]
