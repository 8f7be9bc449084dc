// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/openapi.json again")

// described is the description as a client reads it.
func described(t *testing.T) object {
	t.Helper()
	text, err := json.Marshal(Description(""))
	if err != nil {
		t.Fatal(err)
	}
	var d object
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDescriptionGolden: testdata/openapi.json is the description, so that a change of the API is seen when it is made.
func TestDescriptionGolden(t *testing.T) {
	name := filepath.Join("testdata", "openapi.json")
	text, err := json.MarshalIndent(Description(""), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *rewrite {
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(name, text, 0o644))
	}
	if want, err := os.ReadFile(name); err != nil || !bytes.Equal(text, want) {
		t.Errorf("the API has changed; run: go test ./engine/web -run Golden -rewrite (%v)", err)
	}
}

// TestDescriptionWhole: every operation has a name of its own and a text, and every reference leads somewhere.
func TestDescriptionWhole(t *testing.T) {
	d := described(t)
	names := map[string]bool{}
	for i := range routes {
		r := &routes[i]
		if names[r.name] || r.name == "" || r.about == "" {
			t.Errorf("%s %s: name %q, about %q", r.method, r.path, r.name, r.about)
		}
		names[r.name] = true
		for _, p := range r.params {
			if p.about == "" || p.inPath != strings.Contains(r.path, "{"+p.name+"}") {
				t.Errorf("%s: parameter %s", r.name, p.name)
			}
		}
	}
	components := d["components"].(object)["schemas"].(object)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case object:
			if ref, ok := v["$ref"].(string); ok && components[strings.TrimPrefix(ref, refPrefix)] == nil {
				t.Errorf("%s leads nowhere", ref)
			}
			for _, of := range v {
				walk(of)
			}
		case []any:
			for _, of := range v {
				walk(of)
			}
		}
	}
	walk(d)
}

// TestDescriptionTells: what each property means is told, and of no property that there is not. A text that all
// components have in common says more than the unit.
func TestDescriptionTells(t *testing.T) {
	components := described(t)["components"].(object)["schemas"].(object)
	used := map[string]bool{}
	for name := range components {
		properties := components[name].(object)["properties"].(object)
		for property, schema := range properties {
			own, common := abouts()[name][property], abouts()["*"][property]
			if own == "" {
				own = common
				used[property] = true
			}
			if about, _ := schema.(object)["description"].(string); own == "" || !strings.HasSuffix(about, own) {
				t.Errorf("%s.%s is told %q, want %q", name, property, about, own)
			}
		}
		for property, own := range abouts()[name] {
			if properties[property] == nil || own == abouts()["*"][property] {
				t.Errorf("abouts.txt: %s has no %s, or is told the same as all", name, property)
			}
		}
	}
	for name := range abouts() {
		if name != "*" && components[name] == nil {
			t.Errorf("abouts.txt: there is no %s", name)
		}
	}
	for property := range abouts()["*"] {
		if !used[property] {
			t.Errorf("abouts.txt: no component needs the common text of %s", property)
		}
	}
}

const refPrefix = "#/components/schemas/"

// validator checks JSON against the schemas of the description. Besides what JSON schema demands, an object may not
// have properties that its schema does not name.
type validator struct{ components object }

func (v *validator) check(schema object, value any, at string) error {
	if ref, ok := schema["$ref"].(string); ok {
		return v.check(v.components[strings.TrimPrefix(ref, refPrefix)].(object), value, at)
	}
	if any, ok := schema["anyOf"].([]any); ok {
		var failed []string
		for _, of := range any {
			err := v.check(of.(object), value, at)
			if err == nil {
				return nil
			}
			failed = append(failed, err.Error())
		}
		return fmt.Errorf("%s is none of: %s", at, strings.Join(failed, "; "))
	}
	if enum, ok := schema["enum"].([]any); ok && !slices.Contains(enum, value) {
		return fmt.Errorf("%s is %v, which is none of %v", at, value, enum)
	}
	if types, ok := schema["type"]; ok && !hasType(types, value) {
		return fmt.Errorf("%s is %v, not %v", at, value, types)
	}
	if least, ok := schema["minimum"].(float64); ok {
		if n, ok := value.(float64); ok && n < least {
			return fmt.Errorf("%s is %v, less than %v", at, n, least)
		}
	}
	switch value := value.(type) {
	case string:
		if schema["format"] == "date-time" {
			if _, err := time.Parse(time.RFC3339Nano, value); err != nil {
				return fmt.Errorf("%s: %w", at, err)
			}
		}
	case []any:
		for i, of := range value {
			if err := v.check(schema["items"].(object), of, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case object:
		return v.checkObject(schema, value, at)
	}
	return nil
}

func (v *validator) checkObject(schema, value object, at string) error {
	if required, ok := schema["required"].([]any); ok {
		for _, name := range required {
			if _, ok := value[name.(string)]; !ok {
				return fmt.Errorf("%s has no %s", at, name)
			}
		}
	}
	properties, _ := schema["properties"].(object)
	for _, name := range slices.Sorted(maps.Keys(value)) {
		of, ok := properties[name].(object)
		if !ok {
			if of, ok = schema["additionalProperties"].(object); !ok {
				return fmt.Errorf("%s has %s, which is not described", at, name)
			}
		}
		if err := v.check(of, value[name], at+"."+name); err != nil {
			return err
		}
	}
	return nil
}

func hasType(types, value any) bool {
	if list, ok := types.([]any); ok {
		return slices.ContainsFunc(list, func(one any) bool { return hasType(one, value) })
	}
	switch value := value.(type) {
	case nil:
		return types == "null"
	case bool:
		return types == "boolean"
	case string:
		return types == "string"
	case float64:
		return types == "number" || types == "integer" && value == float64(int64(value))
	case []any:
		return types == "array"
	}
	return types == "object"
}

// TestValidator: what the other tests rely on finds faults.
func TestValidator(t *testing.T) {
	v := &validator{object{"T": object{"type": "object", "required": []any{"n"}, "properties": object{
		"n": object{"type": "integer", "minimum": 0.0}, "t": object{"type": "string", "format": "date-time"},
		"l": object{"type": []any{"array", "null"}, "items": object{"enum": []any{"a"}}},
	}}}}
	ref := object{"$ref": refPrefix + "T"}
	for text, ok := range map[string]bool{
		`{"n":1,"t":"2026-01-02T03:04:05Z","l":["a"]}`: true, `{"n":0,"l":null}`: true,
		`{}`: false, `{"n":1.5}`: false, `{"n":-1}`: false, `{"n":1,"t":"now"}`: false, `{"n":1,"l":["b"]}`: false,
		`{"n":1,"x":1}`: false, `[]`: false, `{"n":"1"}`: false,
	} {
		var value any
		must(t, json.Unmarshal([]byte(text), &value))
		if err := v.check(ref, value, "T"); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}
