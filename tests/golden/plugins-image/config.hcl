ui                    = true
disable_standby_reads = true
cluster_name          = "plugins-image"
plugin_directory      = "/openbao/plugins"

listener "tcp" {
  address              = "[::]:8200"
  cluster_address      = "[::]:8201"
  max_request_duration = "90s"
  tls_cert_file        = "/etc/bao/tls/tls.crt"
  tls_key_file         = "/etc/bao/tls/tls.key"
  tls_client_ca_file   = "/etc/bao/tls/ca.crt"
}

seal "static" {
  current_key    = "file:///etc/bao/unseal/key"
  current_key_id = "operator-generated-v1"
}

storage "raft" {
  path                         = "/bao/data"
  performance_multiplier       = 1
  autopilot_reconcile_interval = "3s"

  retry_join {
    leader_api_addr         = "https://plugins-image-0.plugins-image.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-plugins-image.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }

  retry_join {
    leader_api_addr         = "https://plugins-image-1.plugins-image.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-plugins-image.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }

  retry_join {
    leader_api_addr         = "https://plugins-image-2.plugins-image.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-plugins-image.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }
}

service_registration "kubernetes" {}

log_level                = "info"
plugin_auto_download     = true
plugin_auto_register     = true
plugin_download_behavior = "continue"

plugin "auth" "ldap" {
  image       = "registry.example.com/openbao-plugin-auth-ldap"
  version     = "v0.2.0"
  binary_name = "openbao-plugin-auth-ldap"
  sha256sum   = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
}

plugin "secret" "aws" {
  image       = "registry.example.com/openbao-plugin-secrets-aws"
  version     = "v0.1.0"
  binary_name = "openbao-plugin-secrets-aws"
  sha256sum   = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  args        = [
    "-v",
    "$(id)",
    "a b; c",
  ]
  env         = [
    "HTTPS_PROXY=http://proxy.example.com:3128",
    "A=\u0024{HOME}",
  ]
}
