package cart

import (
	"fmt"
	"testing"
)

func BenchmarkHandle(b *testing.B) {
	for _, held := range []int{1, 10_000} {
		var store Store
		for i := range held {
			env := Env{Caller: "ada", Now: start, Handle: fmt.Sprintf("ord_%d", i), Menu: DefaultMenu()}
			store, _ = Handle(store, []byte(modern(1, "tools/call", `"name":"create_order"`, "{}")), env)
		}
		for _, row := range []struct{ name, method, params string }{
			{"discover", "server/discover", ""},
			{"list", "tools/list", ""},
			{"create", "tools/call", `"name":"create_order"`},
			{"add", "tools/call", `"name":"add_item","arguments":{"order":"ord_0","item":"latte","size":"large"}`},
			{"get", "tools/call", `"name":"get_order","arguments":{"order":"ord_0"}`},
			{"menu", "resources/read", `"uri":"menu://today"`},
		} {
			b.Run(fmt.Sprintf("%s/%d", row.name, held), func(b *testing.B) {
				b.ReportAllocs()
				message := []byte(modern(1, row.method, row.params, "{}"))
				env := Env{Caller: "ada", Now: start, Handle: "fresh", Menu: DefaultMenu()}
				for b.Loop() {
					_, reply := Handle(store, message, env)
					if reply.Error != nil {
						b.Fatal(reply.Error.Message)
					}
					if _, err := encode(reply); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
