//go:build race

package main

// raced says that the race detector is at work, under which processes take a multiple of their time.
const raced = true
