// SPDX-License-Identifier: Apache-2.0

package web

import (
	"io"
	"reflect"
	"testing"
	"time"
)

// TestTemplatesWhole renders every page with everything that it may show, and with nothing. Templates are not compiled,
// so only this finds a field that is gone.
func TestTemplatesWhole(t *testing.T) {
	for name, view := range map[string]any{
		"search": searchView{}, "error": trouble{}, "copy": copyView{}, "links": linksView{}, "url": urlView{},
		"urls": urlsView{}, "hosts": hostsView{}, "host": hostPageView{}, "crawl": crawlView{}, "report": reportView{},
		"log": logView{}, "segments": segmentsView{},
	} {
		v := reflect.New(reflect.TypeOf(view))
		for _, full := range []bool{false, true} {
			if full {
				fill(v.Elem(), 0)
			}
			p := &page{Title: "x", Room: name, Body: v.Interface()}
			if err := templates[name].ExecuteTemplate(io.Discard, "layout", p); err != nil {
				t.Errorf("full %v: %v", full, err)
			}
		}
	}
	if n := len(templates); n != 13 { // with the frame
		t.Errorf("%d templates: one is not rendered here", n)
	}
}

// fill gives everything in a value another value than zero.
func fill(v reflect.Value, depth int) {
	if !v.CanSet() || depth > 8 {
		return
	}
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Now()))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(2)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(2)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(2)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), depth+1)
		fill(v.Index(1), depth+1)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth+1)
		}
	}
}
