// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"

	"github.com/seine-crawler/seine/storage/urlkey"
)

// DefaultSkippedSuffixes are the file-name endings that the default filter refuses: kinds of file
// that hold no links and no text that seine can read. Unlike Nutch's default, nothing is refused
// for having a query.
var defaultSkippedSuffixes = []string{
	"7z", "apk", "avi", "bin", "bmp", "bz2", "class", "css", "deb", "dmg", "doc", "docx", "eot", "eps", "exe",
	"flac", "flv", "gif", "gz", "ico", "iso", "jar", "jpeg", "jpg", "js", "m4a", "m4v", "mid", "mkv", "mov",
	"mp3", "mp4", "mpeg", "mpg", "msi", "odp", "ods", "odt", "ogg", "ogv", "otf", "png", "ppt", "pptx",
	"ps", "rar", "rpm", "svg", "swf", "tar", "tgz", "tif", "tiff", "ttf", "wasm", "wav", "webm", "webp",
	"wma", "wmv", "woff", "woff2", "xls", "xlsx", "xz", "zip", "zst",
}

// maxSuffixLength is the longest ending looked at, in bytes; a longer one is not a file type.
const maxSuffixLength = 8

// SuffixFilter refuses URLs whose path ends in one of a set of file-name endings, without regard to
// case. The query is not looked at.
type SuffixFilter struct {
	skip map[string]struct{}
}

// NewSuffixFilter refuses the given endings (without the dot); with none given, the default set.
func NewSuffixFilter(suffixes ...string) *SuffixFilter {
	if len(suffixes) == 0 {
		suffixes = defaultSkippedSuffixes
	}
	f := &SuffixFilter{skip: make(map[string]struct{}, len(suffixes))}
	for _, s := range suffixes {
		f.skip[strings.ToLower(strings.TrimPrefix(s, "."))] = struct{}{}
	}
	return f
}

// Accept refuses with reason "suffix".
func (f *SuffixFilter) Accept(u urlkey.URL) string {
	path := u.Path()
	dot := strings.LastIndexByte(path, '.')
	if dot < 0 || len(path)-dot-1 > maxSuffixLength || dot+1 == len(path) {
		return ""
	}
	var low [maxSuffixLength]byte
	ending := path[dot+1:]
	for i := range len(ending) {
		c := ending[i]
		if c == '/' {
			return "" // the dot was in a folder's name
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		low[i] = c
	}
	if _, ok := f.skip[string(low[:len(ending)])]; ok && !strings.HasSuffix(path, ".xml.gz") { // which are sitemaps
		return "suffix"
	}
	return ""
}
