// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/engine/writers"
)

// aWriterList is a list of KIND=WHERE for writers.Parse. Only files can be relative to a folder.
var aWriterList = kind{word: "writer", many: true, parse: aText.parse,
	files: func(list string, rewrite func(string) string) string {
		return eachPart(list, func(text string) string {
			if file, ok := strings.CutPrefix(text, "jsonl="); ok {
				return "jsonl=" + rewrite(file)
			}
			return text
		})
	}}

// redactWriters is a list of writers without passwords.
func redactWriters(list string) string { return eachPart(list, writers.Redact) }

// indexWriters sets the index writers that the settings name. Errors have no password.
func (f *flags) indexWriters(o *engine.Options) error {
	l := writers.Options{APIKey: f.text("index-api-key")}
	if login := f.text("index-login"); login != "" {
		var ok bool
		if l.User, l.Password, ok = strings.Cut(login, ":"); !ok {
			return f.fault("index-login", errors.New("want USER:PASSWORD"))
		}
	}
	for _, text := range strings.Split(f.text("index-to"), ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		w, err := writers.Parse(text, l)
		if err != nil {
			return f.fault("index-to", err)
		}
		o.IndexWriters = append(o.IndexWriters, w)
	}
	return nil
}
