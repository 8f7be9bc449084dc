// SPDX-License-Identifier: Apache-2.0

package engine

// rememberedPrefix begins the names of remembered settings in the store, where Open has settings of its own.
const rememberedPrefix = "setting/"

// Remember keeps settings with the data directory, by names and in words of the caller, for Remembered. It is for those
// whose effect outlasts a run, so that a later run with other settings can be noticed; the engine itself does not read
// them. It is durable when it returns.
func (e *Engine) Remember(settings map[string]string) error {
	leave, err := e.enter()
	if err != nil {
		return err
	}
	defer leave()
	named := map[string]string{}
	for name, value := range settings {
		named[rememberedPrefix+name] = value
	}
	return e.w.store.PutSettings(named)
}

// Remembered returns the setting that Remember kept under a name; ok is false if there is none.
func (e *Engine) Remembered(name string) (value string, ok bool, err error) {
	leave, err := e.enter()
	if err != nil {
		return "", false, err
	}
	defer leave()
	return e.w.store.Setting(rememberedPrefix + name)
}
