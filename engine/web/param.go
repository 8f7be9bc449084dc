// SPDX-License-Identifier: Apache-2.0

package web

import (
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// paramKind is the type of a parameter.
type paramKind uint8

const (
	aText   paramKind = iota
	aCount            // whole number
	aNumber           // number
	aSwitch           // true or false
	aWord             // one of words
	aList             // texts with commas between them
)

// param is a parameter of an operation.
type param struct {
	name     string
	about    string
	kind     paramKind
	required bool
	inPath   bool
	repeated bool    // each value of a list is one part, commas included
	least    float64 // of a number
	most     float64 // of a number; of a text and of a part of a list, bytes (0: textMax)
	words    []string
	def      any
}

// parseParams reads the parameters of a request.
func parseParams(r *http.Request, o *route, local bool) (map[string]any, *Problem) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, problem(http.StatusBadRequest, "parameter", "the query of the address: "+err.Error())
	}
	values := map[string]any{}
	for _, p := range o.params {
		if local && p.kind != aNumber {
			p.most = math.MaxUint32
		}
		given, ok := query[p.name]
		delete(query, p.name)
		if p.inPath {
			given, ok = []string{r.PathValue(p.name)}, true
		}
		switch {
		case !ok && p.required:
			return nil, wrongParameter(p.name, "it is required: %s", p.about)
		case !ok && p.def != nil:
			values[p.name] = p.def
			continue
		case !ok:
			continue
		case len(given) > 1 && p.kind != aList:
			return nil, wrongParameter(p.name, "it is given %d times", len(given))
		}
		v, problem := p.parse(given)
		if problem != nil {
			return nil, problem
		}
		values[p.name] = v
	}
	for name := range query {
		var known []string
		for _, p := range o.params {
			known = append(known, p.name)
		}
		if known == nil {
			return nil, wrongParameter(name, "this operation has no parameters")
		}
		return nil, wrongParameter(name, "this operation has no such parameter; it has: %s", strings.Join(known, ", "))
	}
	return values, nil
}

// parse reads a parameter.
func (p *param) parse(given []string) (any, *Problem) {
	text := given[0]
	switch p.kind {
	case aCount:
		n, err := strconv.Atoi(text)
		if err != nil || float64(n) < p.least || float64(n) > p.most {
			return nil, wrongParameter(p.name, "%q: want a whole number from %.0f to %.0f", text, p.least, p.most)
		}
		return n, nil
	case aNumber:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) || f < p.least || f > p.most {
			return nil, wrongParameter(p.name, "%q: want a number from %g to %g", text, p.least, p.most)
		}
		return f, nil
	case aSwitch:
		if text != "true" && text != "false" {
			return nil, wrongParameter(p.name, "%q: want true or false", text)
		}
		return text == "true", nil
	case aWord:
		if !slices.Contains(p.words, text) {
			return nil, wrongParameter(p.name, "%q: want one of %s", text, strings.Join(p.words, ", "))
		}
		return text, nil
	case aList:
		return p.parseList(given)
	}
	return text, p.checkText(text)
}

// parseList reads a list: its parts are in one value with commas, in several values, or both.
func (p *param) parseList(given []string) (any, *Problem) {
	var list []string
	for _, text := range given {
		parts := []string{text}
		if !p.repeated {
			parts = strings.Split(text, ",")
		}
		for _, part := range parts {
			if err := p.checkText(part); err != nil {
				return nil, err
			}
			if p.words != nil && !slices.Contains(p.words, part) {
				return nil, wrongParameter(p.name, "%q: want some of %s", part, strings.Join(p.words, ", "))
			}
			list = append(list, part)
		}
	}
	if len(list) > partsMax && !p.repeated {
		return nil, wrongParameter(p.name, "want at most %d parts, not %d", partsMax, len(list))
	}
	return list, nil
}

func (p *param) checkText(text string) *Problem {
	switch n := p.longest(); {
	case len(text) > n:
		return wrongParameter(p.name, "want at most %d bytes, not %d", n, len(text))
	case !utf8.ValidString(text):
		return wrongParameter(p.name, "want UTF-8")
	}
	return nil
}

func (p *param) longest() int {
	if p.most > 0 {
		return int(p.most)
	}
	return textMax
}
