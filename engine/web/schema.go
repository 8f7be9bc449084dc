// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// schemas makes JSON schemas of types, as encoding/json writes them. Structs become components.
type schemas struct{ components object }

// ofOwn are the schemas of types that write themselves.
var ofOwn = map[reflect.Type]object{
	reflect.TypeFor[time.Time]():              {"type": "string", "format": "date-time"},
	reflect.TypeFor[engine.Duration]():        {"type": "number", "description": "seconds"},
	reflect.TypeFor[engine.Milliseconds]():    {"type": "integer", "description": "milliseconds"},
	reflect.TypeFor[engine.StageCPU]():        {"type": "object", "additionalProperties": object{"type": "number"}},
	reflect.TypeFor[storage.Status]():         {"type": "string", "enum": append(statusNames(), "")},
	reflect.TypeFor[json.RawMessage]():        {},
	reflect.TypeFor[[]byte]():                 {"type": "string", "contentEncoding": "base64"},
	reflect.TypeFor[encoding.TextMarshaler](): {"type": "string"},
}

var textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()

// of returns the schema of a type.
func (s *schemas) of(t reflect.Type) object {
	if own := ofOwn[t]; own != nil {
		return own
	}
	if t.Implements(textMarshaler) {
		return ofOwn[textMarshaler]
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer", "minimum": 0}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return object{"type": "integer"}
	case reflect.Slice, reflect.Array:
		return object{"type": []string{"array", "null"}, "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": []string{"object", "null"}, "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.component(t)
	}
	return object{}
}

// component returns a reference to the component of a struct.
func (s *schemas) component(t reflect.Type) object {
	name := t.Name()
	ref := object{"$ref": "#/components/schemas/" + name}
	if s.components[name] != nil {
		return ref
	}
	properties, required := object{}, []string{}
	schema := object{"type": "object", "properties": properties}
	s.components[name] = schema // before its fields: they may refer to it
	s.fields(t, properties, &required)
	tell(name, properties)
	schema["required"] = required
	return ref
}

// fields adds the properties of a struct.
func (s *schemas) fields(t reflect.Type, properties object, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		if f.Anonymous && tag == "" {
			s.fields(f.Type, properties, required)
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if tag == "-" || !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		properties[name] = s.of(f.Type)
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}
