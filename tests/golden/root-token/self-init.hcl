initialize "operator-root-token" {
  request "register-root-token" {
    operation = "update"
    path = "auth/token/create"
    data = {
      "display_name" = "root"
      "id" = {
        "eval_source" = "file"
        "eval_type" = "string"
        "path" = "/etc/bao/root-token/token"
      }
      "no_parent" = true
      "policies" = [
        "root",
      ]
    }
  }
}
