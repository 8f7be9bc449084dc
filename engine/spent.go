// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"github.com/seine-crawler/seine/engine/internal/admission"
	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// spentBudget is a part of a budget that is used up: the pages, the bytes or the time.
type spentBudget struct {
	who     string // the host or registered domain
	used    string // "3 of 3 pages"
	setting string // that raises it
	section bool   // it is a setting of the host's section
	pages   bool   // no more pages that were never requested; those that were may be
	earned  bool   // pages: those of a domain, which grow with its reputation
}

// String says what is used up, and of which setting.
func (s *spentBudget) String() string {
	switch {
	case s.section:
		return fmt.Sprintf("%s has used %s (%s in its section)", s.who, s.used, s.setting)
	case s.earned:
		return fmt.Sprintf("%s has used %s that its reputation gives it (setting %s)", s.who, s.used, s.setting)
	}
	return fmt.Sprintf("%s has used %s (setting %s)", s.who, s.used, s.setting)
}

// help says what raises it.
func (s *spentBudget) help() string {
	if s.section {
		return fmt.Sprintf("a greater %s in the section of %s permits more", s.setting, s.who)
	}
	return fmt.Sprintf("a greater --set %s=N permits more", s.setting)
}

// budgetKind begins the names of a budget's settings.
type budgetKind string

const (
	hostBudget   budgetKind = "host"
	domainBudget budgetKind = "domain"
)

// spentParts returns the parts of a budget that are used up. h is the host, or one of the domain.
func (o *Options) spentParts(h urlkey.HostKey, kind budgetKind, b admission.Budget) (list []spentBudget) {
	var own policy.HostSettings // of the host's section
	who := h.String()
	if kind == domainBudget {
		who = h.Domain()
	} else if o.HostPolicy != nil {
		if set := o.HostPolicy.Settings(h); set != nil {
			own = *set
		}
	}
	add := func(what, used string, section bool) {
		s := spentBudget{who: who, used: used, setting: string(kind) + "-" + what, section: section}
		if section {
			s.setting = "max-" + what
		}
		s.pages = what == "pages"
		s.earned = kind == domainBudget && s.pages && o.DomainPages == 0
		list = append(list, s)
	}
	used, limit := b.Used, b.Limit
	if limit.URLs > 0 && used.URLs >= limit.URLs {
		add("pages", fmt.Sprintf("%d of %d pages", used.URLs, limit.URLs), own.MaxPages != 0)
	}
	if limit.Bytes > 0 && used.Bytes >= limit.Bytes {
		add("bytes", fmt.Sprintf("%d of %d bytes", used.Bytes, limit.Bytes), own.MaxBytes != 0)
	}
	if limit.Time > 0 && used.Time >= limit.Time {
		add("time", fmt.Sprintf("%s of fetch time", limit.Time), own.MaxTime != 0)
	}
	return list
}
