// Hcl reads documents of HCL 1 with the parser of the server and prints their trees.
//
// Each line of standard input is a JSON string with one document; each line of standard output is
// its tree, or an object with the key "error". In a tree a block is an object with its labels as
// keys, once per label, and a block or an object is a list with one object per time it was written.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"github.com/hashicorp/hcl"
	"github.com/hashicorp/hcl/hcl/ast"
)

func tree(node ast.Node) any {
	switch typed := node.(type) {
	case *ast.ObjectList:
		return items(typed)
	case *ast.ObjectType:
		return items(typed.List)
	case *ast.ListType:
		all := []any{}
		for _, item := range typed.List {
			all = append(all, tree(item))
		}
		return all
	case *ast.LiteralType:
		return typed.Token.Value()
	}
	return nil
}

// Every key that was written, with its labels, in order: a duplicate shows as a second entry.
func items(list *ast.ObjectList) any {
	all := []any{}
	for _, item := range list.Items {
		keys := []any{}
		for _, key := range item.Keys {
			keys = append(keys, key.Token.Value())
		}
		all = append(all, map[string]any{"keys": keys, "value": tree(item.Val)})
	}
	return map[string]any{"items": all}
}

func main() {
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := json.NewEncoder(os.Stdout)
	decoder := json.NewDecoder(input)
	for {
		var document string
		if err := decoder.Decode(&document); err != nil {
			return
		}
		file, err := hcl.ParseString(document)
		if err != nil {
			_ = output.Encode(map[string]any{"error": err.Error()})
			continue
		}
		_ = output.Encode(tree(file.Node))
	}
}
