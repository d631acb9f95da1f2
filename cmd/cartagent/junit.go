package main

import (
	"encoding/xml"
	"strings"
)

// The elements of a JUnit report, as CI systems read it.
type (
	junitSuites struct {
		XMLName xml.Name   `xml:"testsuites"`
		Suite   junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string      `xml:"classname,attr"`
		Name    string      `xml:"name,attr"`
		Failure *junitWhy   `xml:"failure,omitempty"`
		Error   *junitWhy   `xml:"error,omitempty"`
		Out     *junitLines `xml:"system-out,omitempty"`
	}
	junitWhy struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	junitLines struct {
		Text string `xml:",chardata"`
	}
)

// junitOf is the report of a replay: a test case for each file.
func junitOf(all []*verdict, strict bool) []byte {
	suite := junitSuite{Name: "cartagent replay", Tests: len(all)}
	for _, v := range all {
		one := junitCase{Class: "cartagent.replay", Name: v.file}
		text := strings.TrimSpace(v.text(strict))
		switch {
		case v.unusable != nil:
			suite.Errors++
			one.Error = &junitWhy{Message: v.unusable.Error(), Text: text}
		case len(v.differences) > 0:
			suite.Failures++
			one.Failure = &junitWhy{Message: v.differences[0], Text: strings.Join(v.differences, "\n")}
		case v.failed(strict):
			suite.Failures++
			one.Failure = &junitWhy{Message: "something was not verified", Text: text}
		}
		if len(v.unverified) > 0 {
			one.Out = &junitLines{"unverified:\n" + strings.Join(v.unverified, "\n")}
		}
		suite.Cases = append(suite.Cases, one)
	}
	out, err := xml.MarshalIndent(junitSuites{Suite: suite}, "", "  ")
	if err != nil {
		return []byte(xml.Header) // the types above always encode
	}
	return append([]byte(xml.Header), append(out, '\n')...)
}
