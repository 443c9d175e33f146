// Bundle-validator runs the validators of the Operator Framework on the folder of a bundle, as
// `operator-sdk bundle validate` does. It prints each error and warning, and fails with any.
//
// One is left out: MultipleArchitecturesValidator pulls the image of the operator with docker.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: bundle-validator FOLDER")
		os.Exit(2)
	}
	bundle, err := manifests.GetBundleFromDir(filepath.Join(os.Args[1], "manifests"))
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Printf("%s: %d definitions, %d objects\n", bundle.Name, len(bundle.V1CRDs), len(bundle.Objects))
	validators := interfaces.Validators{
		validation.ClusterServiceVersionValidator,
		validation.CustomResourceDefinitionValidator,
		validation.BundleValidator,
		validation.OperatorHubV2Validator,
		validation.StandardCategoriesValidator,
		validation.StandardCapabilitiesValidator,
		validation.ObjectValidator,
		validation.AlphaDeprecatedAPIsValidator,
		validation.GoodPracticesValidator,
	}
	failed := false
	for _, result := range validators.Validate(bundle.ObjectsToValidate()...) {
		for _, one := range result.Errors {
			failed = true
			fmt.Println("error:", one.Error())
		}
		for _, one := range result.Warnings {
			failed = true
			fmt.Println("warning:", one.Error())
		}
	}
	if failed {
		os.Exit(1)
	}
}
