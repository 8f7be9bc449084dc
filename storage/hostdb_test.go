// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// leastOf is the answer that DueTimes and HostCounts must give.
func leastOf(times []int64, limit int) (list []DueCount, complete bool) {
	times = slices.Sorted(slices.Values(times))
	for _, at := range times {
		switch n := len(list); {
		case n > 0 && list[n-1].At == at:
			list[n-1].Count++
		case n == limit:
			return list, false
		default:
			list = append(list, DueCount{at, 1})
		}
	}
	return list, true
}

func drawTimes(t *rapid.T) []int64 {
	return rapid.SliceOfN(rapid.Int64Range(1, 40), 0, 300).Draw(t, "times")
}

func TestDueTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		d := NewDueTimes(limit)
		for range 2 {
			times := drawTimes(t)
			for _, at := range times {
				d.Add(at)
			}
			got, complete := d.Least()
			if want, all := leastOf(times, limit); !slices.Equal(got, want) || complete != all {
				t.Fatalf("%v %t, want %v %t", got, complete, want, all)
			}
			d.Reset()
		}
	})
}

// TestSoonest: while records come and go the list agrees with them, until it is used up and must be rebuilt.
func TestSoonest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawTimes(t)
		var c HostCounts
		c.SetDue(leastOf(all, SoonestMax))
		for range rapid.IntRange(0, 60).Draw(t, "changes") {
			if rapid.Bool().Draw(t, "remove") && len(all) > 0 {
				slices.Sort(all)
				i := rapid.IntRange(0, min(3, len(all)-1)).Draw(t, "which")
				c.RemoveDue(all[i])
				all = slices.Delete(all, i, i+1)
			} else {
				at := rapid.Int64Range(1, 40).Draw(t, "at")
				c.AddDue(at)
				all = append(all, at)
			}
			if !c.KnowsDue() {
				c.SetDue(leastOf(all, SoonestMax))
			}
			want, complete := leastOf(all, len(c.Soonest))
			least := int64(0)
			if len(all) > 0 {
				least = slices.Min(all)
			}
			if !slices.Equal(c.Soonest, want) || c.Complete && !complete || c.NextDue != least {
				t.Fatalf("%+v of %v", c, all)
			}
		}
	})
}

// TestRebuildDue: the upgrade to format 6 makes hosts' due times exact, in several batches.
func TestRebuildDue(t *testing.T) {
	s := openTest(t)
	in := s.NewIngestion()
	for h := range 2*rebuildBatch + 10 {
		host := fmt.Sprintf("com,h%05d,)", h)
		c := HostCounts{NextDue: 1, Bytes: 7}
		for i := range h % 12 {
			r := Record{Status: StatusUnfetched, FetchTime: int64(h%5*1000 + i*i%7 - 1)}
			c.ByStatus[r.Status]++
			key := fmt.Appendf(nil, "%s/%02d http", host, i)
			if err := in.Table(Crawldb()).Set(key, AppendRecord(nil, &r)); err != nil {
				t.Fatal(err)
			}
		}
		if err := in.Table(HostCountsRange()).Set([]byte(host), AppendHostCounts(nil, &c)); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Commit(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a crash in the middle runs it again
		if err := s.rebuildDue(); err != nil {
			t.Fatal(err)
		}
		if report, err := s.Verify(context.Background()); err != nil || !report.OK() {
			t.Fatalf("%v\n%s", err, report)
		}
	}
	var c HostCounts
	_, err := s.HostCounts("com,h00011,)", &c)
	if err != nil || c.NextDue != 999 || c.Bytes != 7 || len(c.Soonest) == 0 {
		t.Errorf("%+v %v", c, err)
	}
}
