initialize "operator-bootstrap" {
  request "enable-jwt" {
    operation = "update"
    path = "sys/auth/jwt-operator"
    data = {
      "type" = "jwt"
    }
  }

  request "configure-jwt" {
    operation = "update"
    path = "auth/jwt-operator/config"
    data = {
      "bound_issuer" = "https://issuer.example.com/cluster"
      "jwt_validation_pubkeys" = [
        "-----BEGIN PUBLIC KEY-----\nZmlyc3Q=\n-----END PUBLIC KEY-----\n",
        "-----BEGIN PUBLIC KEY-----\nc2Vjb25k\n-----END PUBLIC KEY-----\n",
      ]
    }
  }

  request "operator-policy" {
    operation = "update"
    path = "sys/policies/acl/openbao-operator"
    data = {
      "policy" = "path \"sys/health\" {\n  capabilities = [\"read\"]\n}\npath \"sys/step-down\" {\n  capabilities = [\"sudo\", \"update\"]\n}\npath \"sys/storage/raft/configuration\" {\n  capabilities = [\"read\"]\n}\npath \"sys/storage/raft/remove-peer\" {\n  capabilities = [\"update\"]\n}\npath \"sys/storage/raft/autopilot/configuration\" {\n  capabilities = [\"read\", \"update\"]\n}\npath \"sys/storage/raft/autopilot/state\" {\n  capabilities = [\"read\"]\n}\npath \"auth/jwt-operator/config\" {\n  capabilities = [\"read\", \"update\"]\n}\npath \"sys/rotate/recovery/backup\" {\n  capabilities = [\"read\"]\n}"
    }
  }

  request "operator-role" {
    operation = "update"
    path = "auth/jwt-operator/role/openbao-operator"
    data = {
      "bound_audiences" = [
        "openbao-internal/bank/whole",
      ]
      "bound_claims" = {
        "sub" = [
          "system:serviceaccount:openbao-operator-system:openbao-operator-controller",
          "system:serviceaccount:tools:runner",
        ]
      }
      "role_type" = "jwt"
      "token_policies" = [
        "openbao-operator",
      ]
      "token_ttl" = "1h"
      "user_claim" = "sub"
    }
  }

  request "operator-backup-policy" {
    operation = "update"
    path = "sys/policies/acl/openbao-operator-backup"
    data = {
      "policy" = "path \"sys/storage/raft/snapshot\" {\n  capabilities = [\"read\"]\n}\npath \"sys/mounts\" {\n  capabilities = [\"read\"]\n}\npath \"sys/policies/acl/openbao-operator-backup\" {\n  capabilities = [\"read\"]\n}"
    }
  }

  request "operator-backup-role" {
    operation = "update"
    path = "auth/jwt-operator/role/nightly"
    data = {
      "bound_audiences" = [
        "openbao-internal/bank/whole",
      ]
      "bound_subject" = "system:serviceaccount:bank:whole-backup-serviceaccount"
      "role_type" = "jwt"
      "token_policies" = [
        "openbao-operator-backup",
      ]
      "token_ttl" = "1h"
      "user_claim" = "sub"
    }
  }

  request "operator-upgrade-policy" {
    operation = "update"
    path = "sys/policies/acl/openbao-operator-upgrade"
    data = {
      "policy" = "path \"sys/health\" {\n  capabilities = [\"read\"]\n}\npath \"sys/step-down\" {\n  capabilities = [\"sudo\", \"update\"]\n}\npath \"sys/storage/raft/snapshot\" {\n  capabilities = [\"read\"]\n}\npath \"sys/storage/raft/autopilot/state\" {\n  capabilities = [\"read\"]\n}\npath \"sys/storage/raft/join\" {\n  capabilities = [\"update\"]\n}\npath \"sys/storage/raft/configuration\" {\n  capabilities = [\"read\", \"update\"]\n}\npath \"sys/storage/raft/remove-peer\" {\n  capabilities = [\"update\"]\n}\npath \"sys/storage/raft/promote\" {\n  capabilities = [\"update\"]\n}\npath \"sys/storage/raft/demote\" {\n  capabilities = [\"update\"]\n}"
    }
  }

  request "operator-upgrade-role" {
    operation = "update"
    path = "auth/jwt-operator/role/openbao-operator-upgrade"
    data = {
      "bound_audiences" = [
        "openbao-internal/bank/whole",
      ]
      "bound_subject" = "system:serviceaccount:bank:whole-upgrade-serviceaccount"
      "role_type" = "jwt"
      "token_policies" = [
        "openbao-operator-upgrade",
      ]
      "token_ttl" = "1h"
      "user_claim" = "sub"
    }
  }

  request "operator-restore-policy" {
    operation = "update"
    path = "sys/policies/acl/openbao-operator-restore"
    data = {
      "policy" = "path \"sys/storage/raft/snapshot\" {\n  capabilities = [\"update\"]\n}\npath \"sys/storage/raft/snapshot-force\" {\n  capabilities = [\"update\"]\n}"
    }
  }

  request "operator-restore-role" {
    operation = "update"
    path = "auth/jwt-operator/role/openbao-operator-restore"
    data = {
      "bound_audiences" = [
        "openbao-internal/bank/whole",
      ]
      "bound_claims" = {
        "sub" = [
          "system:serviceaccount:bank:whole-restore-serviceaccount",
          "system:serviceaccount:tools:runner",
        ]
      }
      "role_type" = "jwt"
      "token_policies" = [
        "openbao-operator-restore",
      ]
      "token_ttl" = "1h"
      "user_claim" = "sub"
    }
  }
}

initialize "userpass" {
  request "userpass-request" {
    operation = "update"
    path = "sys/auth/userpass"
    data = {
      "type" = "userpass"
    }
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
      "server_stabilization_time" = "2s"
    }
  }
}

initialize "operator-recovery-keys" {
  request "make-recovery-keys" {
    operation = "update"
    path = "sys/rotate/recovery/init"
    data = {
      "backup" = true
      "pgp_keys" = [
        "mDMEawIXWhYJKwYBBAHaRw8BAQdAvlj2RQN6q59VCzZGbxi/U3ETvjXNE1NMEgHnc0tLjR+0IEFsaWNlICh0ZXN0KSA8YWxpY2VAZXhhbXBsZS5jb20+iJAEExYIADgWIQQqNCSv0+EtKOJeKWzYkF8v7R2j6QUCawIXWgIbAwULCQgHAgYVCgkICwIEFgIDAQIeAQIXgAAKCRDYkF8v7R2j6TbyAP0TxKkw8aNNwPYq4vXOitVxJ5+TpCrvWSX6vv7xIgGXGgEAlTojpCEW3mQp1mdMjRY9+pAbJzHI6uKuGuGnGjNvLQu4OARrAhdaEgorBgEEAZdVAQUBAQdA+68M1+uDEQOTRqTsdq2+5ECysb6CLUTNLZWFXlO0uTgDAQgHiHgEGBYIACAWIQQqNCSv0+EtKOJeKWzYkF8v7R2j6QUCawIXWgIbDAAKCRDYkF8v7R2j6TneAPoD54gGQncHM4l3vImtcXVpK3yyi7+wub3MOIH5w8ZSNAD9G7STVbKEE9A/Xpdtd1R9oiFrAB5tNKDNZXfYmDkEfAo=",
      ]
      "secret_shares" = 1
      "secret_threshold" = 1
    }
  }
}
