package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas is the protocol's own schema: what a message of each method must look like, and what may stand in it.
type schemas struct {
	byMethod map[string][]string // names of definitions
	roots    map[string][]string // the properties of a definition, where it lists them itself
	compiled map[string]*jsonschema.Schema
}

var protocol = sync.OnceValues(loadSchemas)

func loadSchemas() (*schemas, error) {
	raw, err := os.ReadFile("../acp/testdata/schema.json")
	if err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	var doc struct {
		Defs map[string]struct {
			Method     string         `json:"x-method"`
			Properties map[string]any `json:"properties"`
			OneOf      []any          `json:"oneOf"`
			AnyOf      []any          `json:"anyOf"`
			AllOf      []any          `json:"allOf"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("decoding the schema: %w", err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("decoding the schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", parsed); err != nil {
		return nil, fmt.Errorf("adding the schema: %w", err)
	}
	s := &schemas{byMethod: map[string][]string{}, roots: map[string][]string{}, compiled: map[string]*jsonschema.Schema{}}
	for name, def := range doc.Defs {
		if def.Method == "" {
			continue
		}
		s.byMethod[def.Method] = append(s.byMethod[def.Method], name)
		if len(def.OneOf)+len(def.AnyOf)+len(def.AllOf) == 0 {
			for property := range def.Properties {
				s.roots[name] = append(s.roots[name], property)
			}
		}
		if s.compiled[name], err = c.Compile("schema.json#/$defs/" + name); err != nil {
			return nil, fmt.Errorf("compiling %s: %w", name, err)
		}
	}
	return s, nil
}

// validate holds a body against the definition of a method that ends in kind: Request, Response or Notification. Methods
// that begin with an underscore are anybody's.
func (s *schemas) validate(method, kind string, body json.RawMessage) error {
	if strings.HasPrefix(method, "_") {
		return nil
	}
	at := slices.IndexFunc(s.byMethod[method], func(name string) bool { return strings.HasSuffix(name, kind) })
	if at < 0 {
		return fmt.Errorf("the schema has no %s of method %q", strings.ToLower(kind), method)
	}
	name := s.byMethod[method][at]
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := s.compiled[name].Validate(doc); err != nil {
		return fmt.Errorf("%s: %w in %s", name, err, body)
	}
	object, _ := doc.(map[string]any)
	for key := range object {
		if roots := s.roots[name]; roots != nil && !slices.Contains(roots, key) {
			return fmt.Errorf("%s: the schema has no %q", name, key)
		}
	}
	return nil
}
