module tools/hcl

go 1.26.0

require github.com/hashicorp/hcl v1.0.1-vault-5
