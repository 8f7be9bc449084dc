// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine/policy"
)

// kind is the kind of a setting's values.
type kind struct {
	// word stands for a value in help; "" for a switch, which needs none.
	word string
	// parse reads a value. Its result can be converted to the type of the field that setting.into points to.
	parse func(text string) (any, error)
	// files rewrites each name of a file in a value; nil: the values name no files.
	files func(text string, rewrite func(name string) string) string
	// many says that a flag may be repeated, with a comma between its values in a file.
	many bool
}

var (
	aText   = kind{word: "text", parse: func(text string) (any, error) { return text, nil }}
	aSwitch = kind{parse: func(text string) (any, error) {
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("want true or false")
		}
		return text == "true", nil
	}}
	aCount = kind{word: "number", parse: func(text string) (any, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("want a whole number, 0 or more")
		}
		return n, nil
	}}
	aPositive = kind{word: "number", parse: func(text string) (any, error) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("want a whole number, 1 or more")
		}
		return n, nil
	}}
	aNumber = kind{word: "number", parse: func(text string) (any, error) {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v <= 1e9) {
			return nil, fmt.Errorf("want a number from 0 to 1e9")
		}
		return v, nil
	}}
	aDelayBound = kind{word: "duration", parse: func(text string) (any, error) {
		if text == "any" {
			return time.Duration(-1), nil
		}
		d, err := parseDuration(text)
		if err != nil {
			err = fmt.Errorf("want any, or a duration such as 30s")
		}
		return d, err
	}}
	aDuration = kind{word: "duration", parse: func(text string) (any, error) { return parseDuration(text) }}
	aTime     = kind{word: "duration", parse: func(text string) (any, error) {
		d, err := parseDuration(text)
		if err == nil && d == 0 {
			err = fmt.Errorf("want a duration of more than 0, such as 2s or 12h")
		}
		return d, err
	}}
	aSize     = kind{word: "size", parse: func(text string) (any, error) { return parseBytes(text) }}
	aSomeSize = kind{word: "size", parse: func(text string) (any, error) {
		n, err := parseBytes(text)
		if err == nil && n == 0 {
			err = fmt.Errorf("want more than 0, such as 512KB or 2MB")
		}
		return n, err
	}}
	aMemory = kind{word: "size", parse: func(text string) (any, error) {
		n, err := parseMemory(text)
		if err == nil && n == 0 {
			err = fmt.Errorf("want auto, or a size such as 512MB or 2GB")
		}
		return n, err
	}}
	aList  = kind{word: "list", parse: func(text string) (any, error) { return splitList(text), nil }}
	aScope = kind{word: "scope", parse: func(text string) (any, error) {
		scope, err := policy.ParseScope(text)
		if err != nil {
			err = fmt.Errorf("want page, prefix, host, domain or any")
		}
		return scope, err
	}}
	aFile = kind{word: "file", parse: aText.parse, files: func(text string, rewrite func(string) string) string {
		return rewrite(text)
	}}
	aFolder   = kind{word: "folder", parse: aText.parse, files: aFile.files}
	aSeedList = kind{word: "file", many: true, parse: aText.parse, files: eachPart}
	aFileList = kind{word: "list", parse: func(text string) (any, error) {
		_, err := parseScopedFiles(text)
		return text, err
	}, files: eachFileName}
)

// oneOf is the kind of a setting with these values.
func oneOf(words ...string) kind {
	return kind{word: "word", parse: func(text string) (any, error) {
		if !slices.Contains(words, text) {
			named := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" })
			last := len(named) - 1
			return nil, fmt.Errorf("want %s or %s", strings.Join(named[:last], ", "), named[last])
		}
		return text, nil
	}}
}

// eachPart rewrites each part of a list.
func eachPart(list string, rewrite func(string) string) string {
	parts := strings.Split(list, ",")
	for i := range parts {
		parts[i] = rewrite(strings.TrimSpace(parts[i]))
	}
	return strings.Join(parts, ",")
}

// eachFileName rewrites FILE in each part of a list of FILE or NAME=FILE.
func eachFileName(list string, rewrite func(string) string) string {
	parts := strings.Split(list, ",")
	for i, part := range parts {
		name, file, named := strings.Cut(strings.TrimSpace(part), "=")
		if named {
			parts[i] = name + "=" + rewrite(file)
		} else {
			parts[i] = rewrite(name)
		}
	}
	return strings.Join(parts, ",")
}

// below makes names of files that are relative relative to a folder: that of the file in which they stand.
func (k kind) below(folder, text string) string {
	if k.files == nil || text == "" {
		return text
	}
	return k.files(text, func(name string) string {
		if name == "" || filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(folder, name)
	})
}
