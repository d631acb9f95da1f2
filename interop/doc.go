// Package interop holds the tests that drive the built binary with programs of others. Those come from the npm
// registry, by a lockfile: `npm ci --ignore-scripts` in this folder. Where they or Node are missing the tests skip; with
// CI=true that is a failure.
package interop
