ui           = true
cluster_name = "hostile-text"

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
    leader_api_addr         = "https://hostile-text-0.hostile-text.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-hostile-text.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }

  retry_join {
    leader_api_addr         = "https://hostile-text-1.hostile-text.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-hostile-text.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }

  retry_join {
    leader_api_addr         = "https://hostile-text-2.hostile-text.demo.svc:8200"
    leader_tls_servername   = "openbao-cluster-hostile-text.local"
    leader_ca_cert_file     = "/etc/bao/tls/ca.crt"
    leader_client_cert_file = "/etc/bao/tls/tls.crt"
    leader_client_key_file  = "/etc/bao/tls/tls.key"
  }
}

service_registration "kubernetes" {}

log_level                 = "info"
allow_audit_log_prefixing = true

audit "file" "stdout" {
  description = "\" }\nstorage \"file\" { path = \"/x\" }\n# \u0024{HOSTNAME} \u0025{ if true } $(id); `id` \u201cquotes\u201d"
  options     = {
    "file_path" = "stdout"
    "prefix" = "<<EOF\n\"}\nEOF\n/* // # \u0024{x"
  }
}

telemetry {
  metrics_prefix       = "x\"\n}\nlistener \"tcp\" {\n  tls_disable = true"
  dogstatsd_tags       = [
    "\u0024{\"",
    "\\",
    "a\", \"b",
  ]
  stackdriver_location = "\u2028{{ 7 * 7 }}"
}
