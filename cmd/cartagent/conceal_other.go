//go:build !linux

package main

// conceal does nothing where no other process is shown our environment through a file.
func conceal() error { return nil }
