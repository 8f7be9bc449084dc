// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"fmt"
	"iter"
	"reflect"

	"github.com/seine-crawler/seine/engine"
)

func (h *Handler) urlStory(c *call) (any, error) { return h.e.Inspect().URLStory(c.ctx, c.text("url")) }

func (h *Handler) hostStory(c *call) (any, error) {
	return h.e.Inspect().HostStory(c.ctx, c.text("host"))
}

func (h *Handler) hostNow(c *call) (any, error) { return h.e.Inspect().HostNow(c.text("host")) }

func (h *Handler) captures(c *call) (any, error) {
	return list[engine.CaptureView]{from: func(string) iter.Seq2[engine.CaptureView, error] {
		return h.e.Inspect().Captures(c.ctx, c.text("url"))
	}}, nil
}

// reportRows stands for the rows of all reports in the table of routes.
type reportRows struct{}

// reportTypes are the types of the rows of each report.
var reportTypes = map[engine.ReportKind]reflect.Type{
	engine.ReportSeeds: reflect.TypeFor[engine.SeedRow](), engine.ReportHosts: reflect.TypeFor[engine.HostRow](),
	engine.ReportDomains: reflect.TypeFor[engine.GroupRow](), engine.ReportSuffixes: reflect.TypeFor[engine.GroupRow](),
	engine.ReportTLDs:      reflect.TypeFor[engine.GroupRow](),
	engine.ReportProtocols: reflect.TypeFor[engine.ProtocolRow](),
	engine.ReportComplete:  reflect.TypeFor[engine.CompleteRow](),
	engine.ReportTypes:     reflect.TypeFor[engine.TypeRow](),
	engine.ReportStatuses:  reflect.TypeFor[engine.StatusRow](),
	engine.ReportFailures:  reflect.TypeFor[engine.FailureRow](), engine.ReportTraps: reflect.TypeFor[engine.TrapRow](),
}

func (h *Handler) report(c *call) (any, error) {
	return list[engine.ReportRow]{from: func(string) iter.Seq2[engine.ReportRow, error] {
		return h.e.Inspect().Report(c.ctx, engine.ReportKind(c.text("report")), c.count("top"))
	}}, nil
}

// reportRow reads a row of a report.
func reportRow(kind engine.ReportKind, text json.RawMessage) (engine.ReportRow, error) {
	v := reflect.New(reportTypes[kind])
	if err := json.Unmarshal(text, v.Interface()); err != nil {
		return nil, fmt.Errorf("reading a row of the report %s: %w", kind, err)
	}
	return v.Elem().Interface().(engine.ReportRow), nil
}
