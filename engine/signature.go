// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"

	"github.com/seine-crawler/seine/engine/parse"
	"github.com/seine-crawler/seine/storage"
)

// settingSignature is the store's setting that names the signature; stores made before there was one have the text's.
const (
	settingSignature = "signature"
	signatureText    = "text"
	signatureContent = "content" // of new stores
)

// signers are the signatures by name.
var signers = map[string]parse.SignerFunc{signatureContent: parse.ContentSignature, signatureText: parse.TextSignature, "bytes": parse.BytesSignature, "body": parse.RawSignature, "profile": parse.TextProfileSignature}

// signerNames are the names, for errors and help.
var signerNames = []string{signatureContent, signatureText, "bytes", "body", "profile"}

// chooseSigner takes the signature that the store was made with. Another one that is asked for is an error: pages
// signed in two ways are never duplicates of one another.
func (o *Options) chooseSigner(store *storage.Store) error {
	name, ok, err := store.Setting(settingSignature)
	if err != nil {
		return err
	}
	if !ok {
		name = signatureText
	}
	if o.Signature != "" && o.Signature != name {
		return &storage.IdentityError{Dir: o.Dir, Setting: settingSignature, Stored: name, Given: o.Signature}
	}
	signer := signers[name]
	if signer == nil {
		return fmt.Errorf("%s was made with signature %q, which this version does not know", o.Dir, name)
	}
	if o.Parsers.Signer == nil {
		o.Parsers.Signer = signer
	}
	return nil
}
