// Package scripted is a model that plays a list of replies. It stands in for a provider in every test above the
// adapters, and in recorded sessions, where the list is a file of JSON lines (see Parse):
//
//	{"thought":"The cart is open.","text":["One latte,"," coming up."],"calls":[{"tool":"add_item","args":{"item":"latte"}}]}
//	{"expect":"order-1","text":"It is in.","stop":"end_turn","usage":{"input":120,"output":8}}
//	{"text":"half an ans","error":{"kind":"incomplete","message":"The reply broke off."}}
//	{"text":"thinking it ov","hang":true}
//
// It keeps the requests that it was sent, so a test can assert on them.
package scripted
