// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/seine-crawler/seine/engine"
)

// describe serves the OpenAPI description of the API.
func (h *Handler) describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = writeJSON(w, Description(h.o.Prefix))
}

// object is a JSON object.
type object = map[string]any

// Description returns the OpenAPI 3.1 description of the API below a prefix, to be written as JSON. It is made of the
// table of routes, and of the types of the answers.
func Description(prefix string) map[string]any {
	s := schemas{components: object{}}
	paths := map[string]object{}
	for i := range routes {
		r := &routes[i]
		if paths[r.path] == nil {
			paths[r.path] = object{}
		}
		verb := map[string]string{http.MethodGet: "get", http.MethodPost: "post"}[r.method]
		paths[r.path][verb] = s.operation(r)
	}
	s.of(reflect.TypeFor[Problem]())
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "seine", "version": engine.Version, "license": object{"name": "Apache-2.0",
				"identifier": "Apache-2.0"},
			"description": "Search, look into and control a crawl. Times are RFC 3339 in UTC, durations are seconds " +
				"unless a name ends with another unit.",
		},
		"servers": []object{{"url": prefix + apiPath}},
		"paths":   paths,
		"components": object{
			"schemas": s.components,
			"securitySchemes": object{
				"token": object{"type": "http", "scheme": "bearer", "description": "that of the file token of the " +
					"data directory"},
			},
		},
	}
}

func (s *schemas) operation(r *route) object {
	o := object{"operationId": r.name, "summary": r.about, "responses": s.responses(r)}
	if len(r.params) > 0 {
		var list []object
		for i := range r.params {
			list = append(list, r.params[i].described())
		}
		o["parameters"] = list
	}
	if r.method == http.MethodPost {
		o["security"] = []object{{"token": []string{}}}
	}
	if r.body != nil {
		content := object{}
		if r.body.value != nil {
			content["application/json"] = object{"schema": s.ofBody(reflect.TypeOf(r.body.value))}
		}
		for _, t := range r.body.types {
			content[t] = object{"schema": object{"type": "string"}}
			if t == "multipart/form-data" {
				content[t] = object{"schema": object{
					"type": "object", "properties": object{urlsPart: object{"type": "string"}},
					"required": []string{urlsPart},
				}}
			}
		}
		o["requestBody"] = object{"description": r.body.about, "required": true, "content": content}
	}
	return o
}

// responses are those of an operation: what it returns, and its problems.
func (s *schemas) responses(r *route) object {
	var item object
	content := object{}
	if r.result != nil {
		item = s.answer(r.result)
		content["application/json"] = object{"schema": item}
	}
	if r.raw != nil {
		content = object{}
	}
	for _, t := range r.raw {
		content[t] = object{"schema": object{"type": "string"}}
		if t == ndjson {
			content[t] = object{"schema": linesOf(item)}
		}
	}
	if r.list {
		content["application/json"] = object{"schema": object{
			"type": "object", "required": []string{"items"}, "properties": object{
				"items": object{"type": "array", "items": item},
				"next":  object{"type": "string", "description": "cursor of the next page; none: this is the last"},
				"more": object{"type": "boolean", "description": "true: there are entries behind the last page, " +
					"which pages of this list do not reach; a stream has all"},
			},
		}}
		content[ndjson] = object{"schema": linesOf(item)}
	}
	if r.events {
		content = object{"text/event-stream": object{"schema": object{"type": "string"}}}
	}
	all := object{"200": object{"description": "done", "content": content}}
	for _, status := range r.statuses() {
		all[strconv.Itoa(status)] = object{
			"description": http.StatusText(status),
			"content": object{"application/problem+json": object{
				"schema": object{"$ref": "#/components/schemas/Problem"},
			}},
		}
	}
	// This one is of net/http, which writes it as text.
	all[strconv.Itoa(http.StatusRequestHeaderFieldsTooLarge)] = object{
		"description": "the head of the request is longer than 64 KiB",
		"content":     object{"text/plain; charset=utf-8": object{"schema": object{"type": "string"}}},
	}
	return all
}

// linesOf is the schema of the lines of a stream of items; nil: of documents, whose export has its problem in a
// trailer.
func linesOf(item object) object {
	if item == nil {
		return object{
			"type": "object", "required": []string{"id", "version"},
			"additionalProperties": object{"anyOf": []any{
				object{"type": []string{"string", "number", "boolean"}},
				object{"type": "array", "items": object{"type": "string"}},
			}},
			"description": "a document as index writers get it; stored_ begins the names of stored fields",
			"properties":  object{"id": object{"type": "string"}, "version": object{"type": "integer"}},
		}
	}
	return object{"anyOf": []any{item, object{
		"type": "object", "required": []string{"problem"},
		"description": "the last line, if an error ends the stream",
		"properties":  object{"problem": object{"$ref": "#/components/schemas/Problem"}},
	}}}
}

// ofBody is the schema of a body: its lists have at least one entry.
func (s *schemas) ofBody(t reflect.Type) object {
	ref := s.of(t)
	for _, p := range s.components[t.Name()].(object)["properties"].(object) {
		if p := p.(object); p["items"] != nil {
			p["type"], p["minItems"] = "array", 1
		}
	}
	return ref
}

// answer returns the schema of an answer. The rows of reports are of several types.
func (s *schemas) answer(result any) object {
	if _, ok := result.(reportRows); !ok {
		return s.of(reflect.TypeOf(result))
	}
	var any []object
	for _, kind := range engine.ReportKinds() {
		any = append(any, s.of(reportTypes[kind]))
	}
	return object{"anyOf": any}
}

// statuses are those of the problems of an operation.
func (r *route) statuses() []int {
	list := append([]int{
		http.StatusBadRequest, http.StatusMisdirectedRequest, http.StatusInternalServerError,
		http.StatusServiceUnavailable, http.StatusRequestHeaderFieldsTooLarge, http.StatusInsufficientStorage,
	}, r.status...)
	if r.method == http.MethodPost {
		list = append(list, http.StatusUnauthorized, http.StatusForbidden)
	}
	if r.body != nil {
		list = append(list, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// described is a parameter in OpenAPI.
func (p *param) described() object {
	schema := object{}
	switch p.kind {
	case aCount:
		schema = object{"type": "integer", "minimum": p.least, "maximum": p.most}
	case aNumber:
		schema = object{"type": "number", "minimum": p.least, "maximum": p.most}
	case aSwitch:
		schema["type"] = "boolean"
	case aWord:
		schema = object{"type": "string", "enum": p.words}
	case aText:
		schema = object{"type": "string", "maxLength": p.longest()}
		if p.name == "cursor" {
			schema["pattern"] = "^[A-Za-z0-9_-]*$"
		}
	case aList:
		part := object{"type": "string", "maxLength": p.longest()}
		if p.words != nil {
			part = object{"type": "string", "enum": p.words}
		}
		schema = object{"type": "array", "items": part, "maxItems": partsMax}
	}
	if p.def != nil {
		schema["default"] = p.def
	}
	d := object{"name": p.name, "in": "query", "description": p.about, "schema": schema}
	if p.kind == aList {
		d["style"], d["explode"] = "form", p.repeated
	}
	if p.inPath {
		d["in"] = "path"
	}
	if p.required {
		d["required"] = true
	}
	return d
}
