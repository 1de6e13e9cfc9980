// SPDX-License-Identifier: MIT
#include "base/known_work.h"

#include "base/name_list.h"
#include "base/path.h"

#include <stddef.h>
#include <string.h>

struct kind {
	const char *names; // separated by |
	struct known_work work;
};

// Between "lib" and the version.
static const struct kind libraries[] = {
	{ "z|lzma|bz2|zstd|lz4|brotlienc|brotlidec|brotlicommon|snappy|deflate|lzo2|z-ng",
	  { "compression",
	    "Work on less data, use a faster format or more threads, or, to compress, "
	    "a lower level." } },
	{ "crypto|ssl|gcrypt|gnutls|nettle|hogweed|mbedcrypto|sodium|b2",
	  { "cryptography", "Work on fewer bytes, or use a cipher or hash that the CPU has "
	                    "instructions for." } },
	{ "pcre2-8|pcre2-16|pcre2-32|pcre|onig|re2|hs",
	  { "regular expressions",
	    "Compile each pattern once, anchor it, and avoid repetitions within repetitions." } },
	{ "sqlite3",
	  { "SQL",
	    "Look at the statements: EXPLAIN QUERY PLAN says which of them use no index." } },
	{ "xml2|expat|xerces-c|yaml-0",
	  { "parsing", "Parse each document once, or in a simpler format." } },
	{ "LLVM|clang-cpp|gccjit|rustc_driver",
	  { "compiling",
	    "Compile less: smaller headers and generic code (clang -ftime-report, -ftime-trace show "
	    "what takes long), a lower optimization level, or a cache of what was compiled (ccache, sccache)." } },
	{ "jpeg|turbojpeg|png16|webp|tiff|jxl|heif|openjp2",
	  { "coding of images", "Use fewer or smaller images, or more threads." } },
	{ "avfilter",
	  { "filters of video or audio",
	    "Leave filters out, apply them to a smaller picture, or give them more threads "
	    "(-filter_threads)." } },
	{ "avcodec|swscale|x264|x265|vpx|aom|SvtAv1Enc|dav1d|rav1e|mp3lame|opus|vorbisenc",
	  { "coding of video or audio",
	    "Use a faster preset, a smaller picture, or more threads." } },
};

#define SUM_ADVICE                                                                                 \
	"Work on several files at once (xargs -P), or use a faster sum where it is acceptable: "   \
	"xxhsum, or b3sum, which has threads."

// What their levels and threads are called differs.
static const struct kind programs[] = {
	{ "gzip",
	  { "compression",
	    "To compress, use a lower level (gzip -1) or pigz, which has threads; tar takes either "
	    "by -I 'gzip -1'. To decompress, a faster format (zstd, lz4)." } },
	{ "pigz",
	  { "compression",
	    "To compress, use a lower level (pigz -1) or a faster format (zstd)." } },
	{ "bzip2",
	  { "compression", "Use lbzip2 or pbzip2, which have threads (tar -I lbzip2), or a faster "
	                   "format (zstd)." } },
	{ "xz|lzma",
	  { "compression",
	    "To compress, use a lower level and threads (xz -1 -T0); tar takes them by "
	    "-I 'xz -1 -T0'. To decompress, a faster format (zstd)." } },
	{ "zstd|zstdmt",
	  { "compression",
	    "To compress, use a lower level (zstd -1, --fast) or threads (-T0); tar "
	    "takes them by -I 'zstd -1 -T0'. To decompress, a faster format (lz4)." } },
	{ "lz4", { "compression", "To compress, use a lower level (lz4 -1, --fast)." } },
	{ "brotli",
	  { "compression", "To compress, use a lower level (brotli -q 4) or a faster format "
	                   "(zstd)." } },
	{ "zip", { "compression", "Use a lower level: zip -1, or zip -0 to store only." } },
	{ "7z|7za|7zr|7zz",
	  { "compression", "To compress, use a lower level (-mx=1) or threads (-mmt=on)." } },
	{ "md5sum|sha1sum|sha224sum|sha256sum|sha384sum|sha512sum|b2sum|cksum|shasum",
	  { "checksums", SUM_ADVICE } },
	{ "sort",
	  { "sorting",
	    "LC_ALL=C compares bytes instead of by the rules of a language, -S 50% sorts in memory, "
	    "--parallel uses more CPUs, and -u replaces uniq. Filter lines before they are sorted." } },
	{ "grep|egrep|fgrep|zgrep",
	  { "searching text",
	    "Use LC_ALL=C, -F for plain strings, and -m 1 where one match is enough; search several "
	    "files at once (xargs -P), or use ripgrep, which has threads." } },
	{ "sed|tr|cut|uniq|comm|join|paste|nl|fold",
	  { "editing text",
	    "Use LC_ALL=C, let one process do several edits (sed -e A -e B), and split the input "
	    "among several processes (parallel --pipe, split -n l/4)." } },
	{ "mawk",
	  { "processing text",
	    "Filter lines before, keep fewer elements in its arrays, and split the input among "
	    "several processes (parallel --pipe, split -n l/4)." } },
	{ "awk|gawk|nawk",
	  { "processing text",
	    "Use LC_ALL=C, and mawk where awk is gawk; filter lines before; split the input "
	    "among several processes (parallel --pipe, split -n l/4)." } },
	{ "mv",
	  { "moving files",
	    "Between two file systems each file is copied and removed: move within one, where it is "
	    "one rename(2) for a whole directory." } },
	{ "cp|install|scp",
	  { "copying files",
	    "Small files cost by the file, large ones by the byte: link instead of copying (cp -l), "
	    "share blocks (cp --reflink=auto), keep many small files in one archive, or copy parts "
	    "at the same time (xargs -P)." } },
	{ "rsync",
	  { "copying files",
	    "Leave files out (--exclude), compare by size and time instead of contents (no -c), copy "
	    "changed files as a whole on a fast network (-W), or run one rsync for each part." } },
	{ "tar|cpio|pax",
	  { "archives",
	    "Small files cost by the file: leave files out (--exclude), archive what has changed "
	    "(--listed-incremental), or archive parts at the same time (xargs -P)." } },
	{ "rm|rmdir|unlink",
	  { "removing files",
	    "Each file is removed on its own: rename the directory and remove it in the background, "
	    "remove parts of it at the same time (xargs -P), or keep such files on a file system "
	    "that is dropped as a whole (tmpfs, a subvolume)." } },
	{ "du",
	  { "adding up sizes",
	    "It looks up each file: leave directories out (--exclude, -x), run one du for each part, "
	    "or ask the file system instead (df, quotas)." } },
	{ "ls|dir|tree",
	  { "listing files",
	    "-l, -s and --color look up each file: list names only (ls -U --color=never), or fewer "
	    "directories." } },
	{ "chmod|chown|chgrp|touch|setfacl",
	  { "changing attributes of files",
	    "Change only the files that differ (find ! -perm MODE -exec chmod MODE {} +), or set "
	    "attributes when files are made (umask, install -m)." } },
	{ "dd",
	  { "copying blocks",
	    "With small blocks most of the time goes to system calls: use bs=1M. With large ones it "
	    "goes to the bytes themselves: copy fewer (conv=sparse, count=), or bypass the page "
	    "cache (oflag=direct)." } },
	{ "cat|head|tail|wc|tee",
	  { "reading files",
	    "Give it fewer or smaller files; wc -c and wc -l read less closely than -w and -m; read "
	    "several files at the same time (xargs -P)." } },
	{ "objdump|readelf|nm|strings|addr2line",
	  { "reading programs",
	    "Ask for less: one function (--disassemble=NAME), one section (-j .text), no source "
	    "lines (-S, -l), no demangled names (-C)." } },
	{ "cc1|cc1plus|cc1obj|f951|clang|clang++|gcc|g++|c++|cc",
	  { "compiling",
	    "Compile less: smaller headers, fewer templates, a lower -O; gcc -ftime-report and clang "
	    "-ftime-trace say what takes long. Keep what was compiled (ccache), and run several "
	    "compilers at the same time (make -j)." } },
	{ "lto1|lto-wrapper",
	  { "link-time optimization",
	    "Leave -flto out while you develop, or give it more jobs (-flto=auto); clang's -flto=thin "
	    "keeps what has not changed." } },
	{ "ld|ld.bfd|ld.gold|gold|collect2",
	  { "linking",
	    "Use a faster linker (-fuse-ld=lld, -fuse-ld=mold), and less debug information "
	    "to copy (-gsplit-dwarf, -gz=none)." } },
	{ "rustc",
	  { "compiling",
	    "cargo build --timings says which crate takes long; use fewer generics and "
	    "crates, a lower opt-level, and lld or mold for linking." } },
	{ "make|gmake|ninja|ninja-build",
	  { "building",
	    "Run more jobs at the same time (-j), build less, or keep what was compiled (ccache); "
	    "bottleneck report --by process shows which commands take long." } },
	{ "cmake|configure|meson",
	  { "configuring a build",
	    "Each check starts a compiler: keep the build directory and its cache, make fewer checks "
	    "(check_include_file, try_compile), or give their results in advance (-DHAVE_X=1, "
	    "cmake -C FILE)." } },
	{ "dpkg-deb|dpkg",
	  { "packages",
	    "Most of it compresses: use a lower level or a faster format (dpkg-deb -z1, -Zzstd), or "
	    "more threads (--threads-max)." } },
	{ "apt-cache|apt|apt-get",
	  { "package lists",
	    "Search names alone (apt-cache search --names-only), and keep its caches: without "
	    "/var/cache/apt/pkgcache.bin all lists are parsed anew." } },
	{ "find",
	  { "walking directories",
	    "Leave directories out (-prune, -maxdepth), test names before what needs a stat() "
	    "(-size, -mtime), and call programs for many files at once (-exec CMD {} +)." } },
	{ "git",
	  { "version control",
	    "Pack its objects (git gc), write a commit graph (git commit-graph write --reachable), "
	    "and have it look at less: fewer commits (-n, --since), fewer paths, no --stat, -p or "
	    "-S, which need the files of each commit." } },
	{ "redis-server|valkey-server|keydb-server",
	  { "a database in memory",
	    "It executes one command at a time, so that a slow one (a script, KEYS, a large range) "
	    "holds up all clients: redis-cli SLOWLOG GET names these, INFO commandstats where the "
	    "time goes." } },
	{ "jq",
	  { "processing JSON", "Read each file once with one filter, stream large ones "
	                       "(--stream), or use gojq or jaq, which are faster." } },
};

static const struct known_work *find(const struct kind *kinds, size_t count, const char *name,
                                     size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (name_list_has(kinds[i].names, name, length))
			return &kinds[i].work;
	return NULL;
}

const struct known_work *known_work_of_library(const char *module)
{
	const size_t count = sizeof(libraries) / sizeof(libraries[0]);
	const char *name = module ? path_base(module) : "";
	const char *end = strstr(name, ".so");

	if (!end || strncmp(name, "lib", 3) != 0)
		return NULL;
	name += 3;
	size_t length = (size_t)(end - name), bare = length;
	const struct known_work *work = find(libraries, count, name, length);
	// A version may be in its name: libLLVM-14.so.1.
	while (bare && name[bare] != '-')
		bare--;
	return work || !bare ? work : find(libraries, count, name, bare);
}

const struct known_work *known_work_of_program(const char *module)
{
	const char *name = module ? path_base(module) : "";

	return find(programs, sizeof(programs) / sizeof(programs[0]), name, strcspn(name, " "));
}
