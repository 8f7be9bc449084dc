// SPDX-License-Identifier: Apache-2.0

package phases

import (
	"bytes"
	"math"

	"github.com/seine-crawler/seine/engine/policy"
	"github.com/seine-crawler/seine/storage"
	"github.com/seine-crawler/seine/storage/urlkey"
)

// dueDays reads what was fetched and is due of hosts in key order, from the due range's keys by day: the days up to now
// side by side. It reads little else, where the hosts' own keys and their records lie among those of all that waits. It
// knows of a record what such a key says. One goroutine.
type dueDays struct {
	now  int64
	days []dueDay
	list []storage.DueDay
	keys []byte
	from []byte
}

// dueDay is a day, and where it is read.
type dueDay struct {
	*storage.Scanner
	prefix []byte
	ok     bool
}

// dueByTime reports whether a schedule has nothing to say but the fetch time, so that no record is asked for.
func dueByTime(s policy.FetchSchedule) bool {
	switch s.(type) {
	case policy.FixedSchedule, policy.AdaptiveSchedule, policy.FreshnessSchedule:
		return true
	}
	return false
}

// newDueDays begins at the first host. ok is false if there are too many days. Close it if ok.
func newDueDays(rd storage.Reader, now int64) (d *dueDays, ok bool, err error) {
	d = &dueDays{now: now}
	last, _ := storage.DueDayOf(now)
	sc := rd.Scan(storage.Due(), storage.AppendDueDay(nil, 0), nil)
	defer sc.Close()
	for more := sc.Next(); more; {
		_, day, isDay := storage.SplitDueDayKey(sc.Key())
		if !isDay || day > last {
			break
		}
		if len(d.days) == dueDaysMax {
			d.close()
			return nil, false, nil
		}
		from, to := storage.AppendDueDay(nil, day), storage.AppendDueDay(nil, day+1)
		if day == math.MaxUint16 {
			to = nil
		}
		of := rd.Scan(storage.Due(), from, to)
		d.days = append(d.days, dueDay{Scanner: of, prefix: from, ok: of.Next()})
		if day == last {
			break
		}
		more = sc.SeekGE(to)
	}
	if err := sc.Err(); err != nil {
		d.close()
		return nil, false, err
	}
	return d, true, nil
}

// of returns what is due of a host, day by day; the list is valid until the next call. Hosts must ascend. ok is false
// if it is more than a limit.
func (d *dueDays) of(host urlkey.HostKey, limit int) (list []storage.DueDay, ok bool, err error) {
	d.list, d.keys = d.list[:0], d.keys[:0]
	for i := range d.days {
		day := &d.days[i]
		day.seek(host, &d.from)
		for ; day.ok && bytes.HasPrefix(storage.DueDayKeyOf(day.Key()), []byte(host)); day.ok = day.Next() {
			e, _, isDay := storage.SplitDueDayKey(day.Key())
			if !isDay || e.At > d.now {
				continue
			}
			if len(d.list) == limit {
				return nil, false, day.Err()
			}
			from := len(d.keys)
			d.keys = append(d.keys, e.Key...)
			e.Key = d.keys[from:] // stays as it is if the keys move
			d.list = append(d.list, e)
		}
		if err := day.Err(); err != nil {
			return nil, false, err
		}
	}
	return d.list, true, nil
}

// seek moves to a host, or behind it.
func (d *dueDay) seek(host urlkey.HostKey, scratch *[]byte) {
	for n := 0; d.ok && string(storage.DueDayKeyOf(d.Key())) < string(host); n++ {
		if n == dueDaySteps {
			*scratch = append(append((*scratch)[:0], d.prefix...), host...)
			d.ok = d.SeekGE(*scratch)
			return
		}
		d.ok = d.Next()
	}
}

func (d *dueDays) close() {
	for i := range d.days {
		d.days[i].Close()
	}
}
