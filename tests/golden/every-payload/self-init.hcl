initialize "audit_file" {
  request "audit_file-request" {
    operation = "update"
    path = "sys/audit/stdout"
    data = {
      "options" = {
        "file_path" = "stdout"
        "mode" = "0600"
      }
      "type" = "file"
    }
  }
}

initialize "audit_http" {
  request "audit_http-request" {
    operation = "update"
    path = "sys/audit/collector"
    allow_failure = true
    data = {
      "description" = "the collector"
      "options" = {
        "headers" = "{\"X-Team\": [\"platform\"]}"
        "uri" = "https://audit.example.com/bao"
      }
      "type" = "http"
    }
  }
}

initialize "audit_syslog" {
  request "audit_syslog-request" {
    operation = "update"
    path = "sys/audit/syslog"
    allow_failure = true
    data = {
      "options" = {
        "facility" = "AUTH"
      }
      "type" = "syslog"
    }
  }
}

initialize "audit_socket" {
  request "audit_socket-request" {
    operation = "update"
    path = "sys/audit/socket"
    allow_failure = true
    data = {
      "options" = {
        "address" = "127.0.0.1:9090"
        "socket_type" = "tcp"
        "write_timeout" = "2s"
      }
      "type" = "socket"
    }
  }
}

initialize "userpass" {
  request "userpass-request" {
    operation = "update"
    path = "sys/auth/userpass"
    data = {
      "config" = {
        "default_lease_ttl" = "1h"
      }
      "description" = "people"
      "type" = "userpass"
    }
  }
}

initialize "kv" {
  request "kv-request" {
    operation = "update"
    path = "sys/mounts/secret"
    data = {
      "options" = {
        "version" = "2"
      }
      "type" = "kv"
    }
  }
}

initialize "everyone" {
  request "everyone-request" {
    operation = "update"
    path = "sys/policies/acl/everyone"
    data = {
      "policy" = "path \"secret/data/{{identity.entity.name}}/*\" {\n  capabilities = [\"create\", \"read\", \"update\"]\n}\n"
    }
  }
}

initialize "draw" {
  request "draw-request" {
    operation = "update"
    path = "sys/tools/random/16"
    data = {
      "format" = "hex"
    }
  }
}

initialize "user" {
  request "user-request" {
    operation = "update"
    path = "auth/userpass/users/first"
    data = {
      "password" = {
        "eval_source" = "response"
        "eval_type" = "string"
        "field_selector" = [
          "data",
          "random_bytes",
        ]
        "initialize_name" = "draw"
        "response_name" = "draw-request"
      }
      "token_no_default_policy" = false
      "token_num_uses" = 0
      "token_policies" = [
        "everyone",
      ]
    }
  }
}

initialize "config" {
  request "config-request" {
    operation = "create"
    path = "secret/data/config"
    data = {
      "data" = {
        "empty" = {}
        "port" = 8200
        "ratio" = 0.25
        "servers" = [
          {
            "name" = "a"
            "tags" = [
              "x",
              "y",
            ]
          },
          {
            "name" = "b"
          },
        ]
        "template" = "\u0024{HOSTNAME} \u0025{ if true } \"quoted\" \\ back"
      }
    }
  }
}

initialize "list" {
  request "list-request" {
    operation = "list"
    path = "secret/metadata"
  }
}

initialize "configure-autopilot" {
  request "configure-autopilot-request" {
    operation = "update"
    path = "sys/storage/raft/autopilot/configuration"
    data = {
      "cleanup_dead_servers" = true
      "dead_server_last_contact_threshold" = "24h"
      "min_quorum" = 3
      "server_stabilization_time" = "10s"
    }
  }
}
