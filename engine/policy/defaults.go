// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"time"
)

// DefaultFilters returns the filters of a crawl that names none: the trap filter for the year of now, and the suffix
// filter. Filters in an engine's options replace them; to add a filter of your own, append to them:
//
//	Filters: append(policy.DefaultFilters(time.Now()), mine)
//
// Each call returns a new slice.
func DefaultFilters(now time.Time) URLFilters {
	return URLFilters{TrapFilter{Year: now.Year()}, NewSuffixFilter()}
}

// DefaultNormalizers returns the normalizers of a crawl that names none, for you to append to:
//
//	Normalizers: append(policy.DefaultNormalizers(), policy.QueryNormalizer{})
//
// Each call returns a new slice.
func DefaultNormalizers() URLNormalizers { return URLNormalizers{ParameterNormalizer{}} }

// DefaultRefuseTypes returns the media types whose bodies a crawl does not read unless it names others. "image/*"
// means every subtype. Each call returns a new slice.
func DefaultRefuseTypes() []string { return []string{"image/*", "audio/*", "video/*", "font/*"} }

// DefaultSuffixes returns the file-name endings, without the dot, that NewSuffixFilter() refuses: files without links
// and without text that seine can read. Unlike Nutch's default, it refuses no URL because of its query. Each call
// returns a new slice.
func DefaultSuffixes() []string { return slices.Clone(defaultSuffixes) }

var defaultSuffixes = []string{
	"7z", "apk", "avi", "bin", "bmp", "bz2", "class", "css", "deb", "dmg", "doc", "docx", "eot", "eps", "exe",
	"flac", "flv", "gif", "gz", "ico", "iso", "jar", "jpeg", "jpg", "js", "m4a", "m4v", "mid", "mkv", "mov",
	"mp3", "mp4", "mpeg", "mpg", "msi", "odp", "ods", "odt", "ogg", "ogv", "otf", "png", "ppt", "pptx",
	"ps", "rar", "rpm", "svg", "swf", "tar", "tgz", "tif", "tiff", "ttf", "wasm", "wav", "webm", "webp",
	"wma", "wmv", "woff", "woff2", "xls", "xlsx", "xz", "zip", "zst",
}
