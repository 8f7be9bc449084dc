// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"errors"
)

// near compares the near ranges with crawldb and with each other:
//
//	crawldb  Record.Near ◀─▶ near pages has (fingerprint, URL), and nothing else
//	pages    fingerprint ◀─▶ table 0 has it, unless it is in changed
//	table 0  fingerprint ◀─▶ the other tables have it rotated, and nothing else
//	groups   fingerprint ──▶ table 0 has it; group ◀─▶ members has the pair; the least member is the group
func (v *verifier) near() error {
	for _, step := range []func() error{v.nearPages, v.nearChanged, v.nearTables, v.nearGroups} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) nearPages() error {
	return v.match(NearPages(), v.wantNear, func(key []byte) {
		v.problem(Crawldb(), key[8:], "fingerprint %x is not in near", key[:8])
	}, "crawldb has no such fingerprint of the URL")
}

func (v *verifier) nearChanged() error {
	return v.each(NearChanged(), func(key, _ []byte) error {
		if _, err := ReadSimHash(key); err != nil {
			v.problem(NearChanged(), key, "%v", err)
		}
		return nil
	})
}

// nearTables walks table 0 beside the fingerprints of pages, and compares the others with it.
func (v *verifier) nearTables() error {
	pages, changed := v.snap.Scan(NearPages(), nil, nil), v.snap.Scan(NearChanged(), nil, nil)
	defer pages.Close()
	defer changed.Close()
	waits := func(key []byte) bool { return changed.SeekGE(key) && bytes.Equal(changed.Key(), key) }
	var rotated [NearTables]*Sorter
	for n := 1; n < NearTables; n++ {
		rotated[n] = v.s.sorter()
		defer rotated[n].Close()
	}
	more := pages.Next()
	missing := func(before []byte) {
		for more && len(pages.Key()) > 8 && (before == nil || bytes.Compare(pages.Key()[:8], before) < 0) {
			s := bytes.Clone(pages.Key()[:8])
			if !waits(s) {
				v.problem(NearTable(0), s, "not there, but pages have it")
			}
			for more = pages.Next(); more && bytes.HasPrefix(pages.Key(), s); more = pages.Next() {
			}
		}
	}
	var key []byte
	err := v.each(NearTable(0), func(s, _ []byte) error {
		hash, err := ReadSimHash(s)
		if err != nil {
			v.problem(NearTable(0), s, "%v", err)
			return nil
		}
		missing(s)
		if there := more && bytes.HasPrefix(pages.Key(), s); !there && !waits(s) {
			v.problem(NearTable(0), s, "no page has it")
		}
		for more && bytes.HasPrefix(pages.Key(), s) {
			more = pages.Next()
		}
		for n := 1; n < NearTables; n++ {
			key = hash.Rotated(n).Append(key[:0])
			if err := rotated[n].Add(key, nil); err != nil {
				return err
			}
		}
		return nil
	})
	missing(nil)
	err = errors.Join(err, v.tolerate(NearPages(), pages.Err()), v.tolerate(NearChanged(), changed.Err()))
	for n := 1; err == nil && n < NearTables; n++ {
		err = v.match(NearTable(n), rotated[n], func(key []byte) {
			v.problem(NearTable(n), key, "not there, but table 0 has it")
		}, "table 0 does not have it")
	}
	return err
}

func (v *verifier) nearGroups() error {
	table := v.snap.Scan(NearTable(0), nil, nil)
	defer table.Close()
	members := v.s.sorter()
	defer members.Close()
	err := v.each(NearGroups(), func(key, value []byte) error {
		s, err := ReadSimHash(key)
		group, err2 := ReadSimHash(value)
		if err = errors.Join(err, err2); err != nil {
			v.problem(NearGroups(), key, "%v", err)
			return nil
		}
		if !table.SeekGE(key) || !bytes.Equal(table.Key(), key) {
			v.problem(NearGroups(), key, "it is in no table")
		}
		return members.Add(AppendNearMemberKey(nil, group, s), nil)
	})
	if err = errors.Join(err, v.tolerate(NearTable(0), table.Err())); err != nil {
		return err
	}
	var last SimHash
	err = v.match(NearMembers(), members, func(key []byte) {
		v.problem(NearMembers(), key, "not there, but groups has it")
	}, "groups does not have it")
	if err != nil {
		return err
	}
	sc := v.snap.Scan(NearMembers(), nil, nil)
	defer sc.Close()
	for sc.Next() {
		if group, s, err := SplitNearMemberKey(sc.Key()); err == nil && group != last {
			if last = group; s != group {
				v.problem(NearMembers(), sc.Key(), "it is the least of the group and should be its number")
			}
		}
	}
	return v.tolerate(NearMembers(), sc.Err())
}
