initialize "team" {
  request "team-request" {
    operation = "update"
    path = "sys/namespaces/team"
  }
}

initialize "team-kv" {
  request "team-kv-request" {
    operation = "update"
    path = "sys/mounts/secret"
    headers = {
      "X-Vault-Namespace" = [
        "team",
      ]
    }
    data = {
      "type" = "kv"
    }
  }
}

initialize "never" {
  request "never-request" {
    operation = "update"
    path = "sys/mounts/never"
    when = false
    data = {
      "type" = "kv"
    }
  }
}

initialize "sometimes" {
  request "sometimes-request" {
    operation = "update"
    path = "sys/mounts/sometimes"
    when = {
      "eval_source" = "cel"
      "eval_type" = "bool"
      "expression" = "true"
    }
    allow_failure = true
    data = {
      "type" = "kv"
    }
  }
}

initialize "always" {
  request "always-request" {
    operation = "update"
    path = "sys/mounts/always"
    data = {
      "type" = "kv"
    }
  }
}
