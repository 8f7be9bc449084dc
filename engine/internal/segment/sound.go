// SPDX-License-Identifier: Apache-2.0

package segment

import (
	"errors"

	"github.com/seine-crawler/seine/storage/warc"
)

// scanSound returns the sound pieces of a part of a file, and what is between them.
func (g *Segments) scanSound(path string, part warc.FileInfo) (sound []warc.FileInfo, faults []warc.Fault, err error) {
	f, err := g.env.FS.Open(path)
	if err != nil {
		return nil, nil, err
	}
	bad := false // the record that comes next has a fault
	err = warc.ScanPart(f, path, part.Start, part.Start+part.Size, func(rec *warc.Record) error {
		if bad || rec.Length <= 0 {
			bad = false
			return nil
		}
		if n := len(sound); n > 0 && sound[n-1].Start+sound[n-1].Size == rec.Offset {
			sound[n-1].Size += rec.Length
			return nil
		}
		sound = append(sound, warc.FileInfo{Name: part.Name, Start: rec.Offset, Size: rec.Length})
		return nil
	}, func(fault warc.Fault) error {
		bad = fault.Readable
		if len(faults) < holesReported {
			faults = append(faults, fault)
		}
		return nil
	})
	return sound, faults, errors.Join(err, f.Close())
}

// holesReported bounds the holes in one part of a file of which warnings tell.
const holesReported = 1000
