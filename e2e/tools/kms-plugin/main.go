// Kms-plugin is the plugin of the seal awskms, with the wrapper that servers before 2.7 contain.
package main

import (
	"github.com/openbao/go-kms-wrapping/plugin/v2"
	"github.com/openbao/go-kms-wrapping/v2"
	"github.com/openbao/go-kms-wrapping/wrappers/awskms/v2"
)

func main() {
	plugin.Serve(&plugin.ServeOpts{
		WrapperFactoryFunc: func() wrapping.Wrapper { return awskms.NewWrapper() },
	})
}
