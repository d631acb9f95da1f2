package loop

import (
	"encoding/json"
	"testing"
)

func FuzzStep(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("a plain turn, and then some more of it to get at calls"))
	f.Add([]byte{1, 0, 3, 1, 4, 1, 1, 5, 0, 0, 2, 1, 3, 4, 4, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	tools := append(specs(), Spec{Name: "order", Default: Allow, Keyed: true})
	f.Fuzz(func(t *testing.T, data []byte) {
		i := 0
		d := dice{specs: tools, next: func() byte {
			i++
			if i > len(data) {
				return 0
			}
			return data[i-1]
		}}
		c := newChecker(true)
		if err := c.step(d.config()); err != nil {
			t.Fatal(err)
		}
		for n := 0; i < len(data) && n < 300; n++ {
			if err := c.step(d.input(c)); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.done(); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzCodec feeds bodies to every kind: what decodes is encoded to something that decodes to the same, and Step takes it.
func FuzzCodec(f *testing.F) {
	for _, in := range everyInput() {
		kind, body, err := EncodeInput(in)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(kind, []byte(body))
	}
	f.Add("Prompted", []byte(`{"content":[{"type":"hologram","depth":[1, 2]},null,{"type":"other","kind":"text","raw":null}]}`))
	f.Add("Replied", []byte(`{"message":{"calls":[{"tool":"x","args":{"a": 1e400}}]}}`))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		in, err := DecodeInput(kind, json.RawMessage(body))
		if err != nil {
			return
		}
		kind1, body1, err := EncodeInput(in)
		if err != nil {
			t.Fatalf("%#v was decoded and cannot be encoded: %v", in, err)
		}
		again, err := DecodeInput(kind1, body1)
		if err != nil {
			t.Fatalf("%s %s was encoded and cannot be decoded: %v", kind1, body1, err)
		}
		kind2, body2, err := EncodeInput(again)
		if err != nil || kind1 != kind || kind2 != kind || string(body1) != string(body2) {
			t.Fatalf("%s %s became %s %s (%v)", kind1, body1, kind2, body2, err)
		}
		s, _ := Step(State{}, Prompted{})
		Step(s, in)
		s, _ = Step(s, calls("look"))
		Step(s, in)
	})
}
