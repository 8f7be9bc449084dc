// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seine-crawler/seine/engine"
	"github.com/seine-crawler/seine/storage"
)

// drawn draws a value of a type that views are made of, as JSON can hold it.
func drawn(t *rapid.T, typ reflect.Type, name string) reflect.Value {
	v := reflect.New(typ).Elem()
	switch typ {
	case reflect.TypeFor[time.Time]():
		if rapid.Bool().Draw(t, name) {
			v.Set(reflect.ValueOf(time.UnixMilli(rapid.Int64Range(1, 253_402_300_799_999).Draw(t, name)).UTC()))
		}
		return v
	case reflect.TypeFor[engine.Milliseconds]():
		v.SetInt(rapid.Int64Range(0, math.MaxInt64/int64(time.Millisecond)).Draw(t, name) * int64(time.Millisecond))
		return v
	case reflect.TypeFor[storage.Status]():
		v.SetUint(rapid.Uint64Range(1, uint64(storage.StatusCount-1)).Draw(t, name))
		return v
	case reflect.TypeFor[storage.FetchStatus](), reflect.TypeFor[storage.SegmentState]():
		v.SetUint(rapid.Uint64Range(1, 4).Draw(t, name))
		return v
	}
	switch typ.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, name))
	case reflect.String:
		v.SetString(rapid.String().Draw(t, name))
	case reflect.Float64:
		v.SetFloat(rapid.Float64().Draw(t, name))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, name))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(rapid.Uint64Range(0, math.MaxUint64>>(64-typ.Bits())).Draw(t, name))
	case reflect.Struct:
		for i := range typ.NumField() {
			if f := typ.Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				v.Field(i).Set(drawn(t, f.Type, f.Name))
			}
		}
	default:
		drawParts(t, v, name)
	}
	return v
}

// drawParts draws what a pointer, a slice, an array or a map has; it may be nothing.
func drawParts(t *rapid.T, v reflect.Value, name string) {
	n, typ := rapid.IntRange(0, 2).Draw(t, name), v.Type()
	switch typ.Kind() {
	case reflect.Pointer:
		if n > 0 {
			v.Set(reflect.New(typ.Elem()))
			v.Elem().Set(drawn(t, typ.Elem(), name))
		}
	case reflect.Slice:
		for range n {
			v.Set(reflect.Append(v, drawn(t, typ.Elem(), name)))
		}
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).Set(drawn(t, typ.Elem(), name))
		}
	case reflect.Map:
		if n > 0 {
			v.Set(reflect.MakeMap(typ))
		}
		for range n {
			v.SetMapIndex(drawn(t, typ.Key(), name), drawn(t, typ.Elem(), name))
		}
	default:
		t.Fatalf("%s: cannot draw a %s", name, typ)
	}
}

// views are the types that commands print, whichever process reads them.
var views = []reflect.Type{
	reflect.TypeFor[engine.RecordView](), reflect.TypeFor[engine.HostView](), reflect.TypeFor[engine.InlinkView](),
	reflect.TypeFor[engine.SegmentView](), reflect.TypeFor[engine.ParseView](), reflect.TypeFor[engine.CrawldbStats](),
	reflect.TypeFor[engine.URLCheck](), reflect.TypeFor[engine.InjectReport](), reflect.TypeFor[engine.RecrawlReport](),
	reflect.TypeFor[engine.DeleteReport](), reflect.TypeFor[engine.URLStory](), reflect.TypeFor[engine.HostStory](),
	reflect.TypeFor[engine.SeedRow](), reflect.TypeFor[engine.HostRow](), reflect.TypeFor[engine.TypeRow](),
	reflect.TypeFor[engine.StatusRow](), reflect.TypeFor[engine.FailureRow](), reflect.TypeFor[engine.TrapRow](),
	reflect.TypeFor[engine.CaptureView](), reflect.TypeFor[engine.SearchResult](),
	reflect.TypeFor[engine.VerifyReport](), reflect.TypeFor[IndexAnswer](), reflect.TypeFor[PurgeAnswer](),
	reflect.TypeFor[engine.DedupReport](), reflect.TypeFor[engine.DedupURLsReport](),
}

// TestRoundTrip: what the API writes of a view is read back as the same view.
func TestRoundTrip(t *testing.T) {
	for _, typ := range views {
		t.Run(typ.Name(), rapid.MakeCheck(func(t *rapid.T) {
			v := drawn(t, typ, typ.Name())
			var b bytes.Buffer
			if err := writeJSON(&b, v.Interface()); err != nil {
				t.Fatal(err)
			}
			back := reflect.New(typ)
			if err := json.Unmarshal(b.Bytes(), back.Interface()); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(back.Elem().Interface(), v.Interface()) {
				t.Fatalf("%#v\nis read back as\n%#v\nof %s", v.Interface(), back.Elem().Interface(), b.String())
			}
		}))
	}
}
