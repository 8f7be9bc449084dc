// SPDX-License-Identifier: Apache-2.0

package parse_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	"github.com/seine-crawler/seine/engine/parse"
)

// labelled returns the encoding after which a folder of the labelled files is named; nil if x/text does not have it.
func labelled(folder string) encoding.Encoding {
	name := strings.ToLower(folder)
	for _, language := range []string{
		"-croatian", "-czech", "-hungarian", "-polish", "-romanian", "-slovak", "-slovene", "-bulgarian", "-russian",
		"-arabic", "-greek", "-turkish", "-hebrew",
	} {
		name = strings.TrimSuffix(name, language)
	}
	switch name {
	case "cp932":
		name = "shift_jis"
	case "cp949":
		name = "euc-kr"
	case "gb2312":
		name = "gb18030"
	case "ibm855":
		return charmap.CodePage855
	case "maccyrillic":
		name = "x-mac-cyrillic"
	case "macroman":
		name = "macintosh"
	case "ascii", "utf-8-sig":
		return unicode.UTF8BOM
	case "utf-16":
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case "utf-32":
		return utf32.UTF32(utf32.LittleEndian, utf32.UseBOM)
	case "utf-32be":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	case "utf-32le":
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	case "iso-2022-kr":
		return nil
	}
	enc, err := htmlindex.Get(name)
	if err != nil {
		return nil
	}
	return enc
}

// TestCharsetDetection parses labelled files whose charset is evident from their bytes only, and counts those that give
// the same text as with the label. (Charsets unknown to browsers, such as IBM855 and UTF-32, count as well.)
func TestCharsetDetection(t *testing.T) {
	parsers := parse.New(parse.Options{})
	text := func(contentType string, body []byte) (string, string) {
		var p parse.Page
		in := parse.Input{URL: mustURL(t, "http://a.example/"), ContentType: contentType, Body: body}
		if err := parsers.Parse(&in, &p); err != nil {
			return "", err.Error()
		}
		return string(p.Text), p.Charset
	}
	right, all := map[string]int{}, map[string]int{}
	files, good := 0, 0
	untar(t, conformance(t, "charset/chardet-files.tar.xz"), func(name string, data []byte) {
		folder := path.Base(path.Dir(name))
		if path.Base(name) == "README.txt" {
			return
		}
		files++
		all[folder]++
		got, charset := text("text/plain", data)
		if enc := labelled(folder); enc != nil {
			if utf8, err := enc.NewDecoder().Bytes(data); err == nil {
				if want, _ := text("text/plain; charset=utf-8", utf8); got == want {
					good++
					right[folder]++
					return
				}
			}
		}
		t.Logf("%s: %s", name, charset)
	})
	var lines []string
	for folder, n := range all {
		if right[folder] < n {
			lines = append(lines, fmt.Sprintf("%s %d of %d", folder, right[folder], n))
		}
	}
	slices.Sort(lines)
	percent := 100 * float64(good) / float64(files)
	t.Logf("%d of %d right: %.1f%%; not all of: %s", good, files, percent, strings.Join(lines, ", "))
	if 10*good < 9*files {
		t.Errorf("%.1f%% right, want at least 90%%", percent)
	}
}
