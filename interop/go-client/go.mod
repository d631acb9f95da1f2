module github.com/cartagent/cartagent/interop/goclient

go 1.26.0

require (
	github.com/coder/acp-go-sdk v0.13.0
	github.com/stretchr/testify v1.12.1
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect
